"""Validation of geometry options such as `sphere[radius=16]`."""

from lantm.errors import LantmError

_MOST_DIMENSIONS = 256


def check_dimension(space: str, smallest: int, dimension: int) -> None:
    """Raises a `LantmError` for a key space of an impossible dimension.

    Distances are sums that are compiled component by component, so thousands of them would not end compiling.
    """
    if dimension < smallest:
        raise LantmError(f"{space} dimension {smallest} or more, not {dimension}")
    if dimension > _MOST_DIMENSIONS:
        raise LantmError(f"{space} dimension {_MOST_DIMENSIONS} or less, not {dimension}")


def check_radius(geometry: str, radius: float) -> None:
    """Raises a `LantmError` unless the radius is between 0.001 and 1e6."""
    if not 1e-3 <= radius <= 1e6:
        raise LantmError(f"the geometry {geometry!r} cannot have the radius {radius}: give a number from 0.001 to 1e6")
