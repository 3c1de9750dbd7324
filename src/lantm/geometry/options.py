"""Options of geometries, checked where a geometry is made: `sphere[radius=16]`."""

from lantm.errors import LantmError


def check_radius(geometry: str, radius: float) -> None:
    """Refuses a radius that is no length."""
    if not 1e-3 <= radius <= 1e6:
        raise LantmError(f"the geometry {geometry!r} cannot have the radius {radius}: give a number from 0.001 to 1e6")
