"""Validation of geometry options such as `sphere[radius=16]`."""

from lantm.errors import LantmError


def check_radius(geometry: str, radius: float) -> None:
    """Raises a `LantmError` unless the radius is between 0.001 and 1e6."""
    if not 1e-3 <= radius <= 1e6:
        raise LantmError(f"the geometry {geometry!r} cannot have the radius {radius}: give a number from 0.001 to 1e6")
