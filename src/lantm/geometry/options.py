"""Options of geometries, checked where a geometry is made: `sphere[radius=16,actions=geodesic]`."""

from lantm.errors import LantmError


def check_choice(geometry: str, field: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuses what is not among the choices of a geometry's field."""
    if value not in choices:
        raise LantmError(f"the geometry {geometry!r} has no {field}={value}: its {field} are {' or '.join(choices)}")


def check_radius(geometry: str, radius: float) -> None:
    """Refuses a radius that is no length."""
    if not 1e-3 <= radius <= 1e6:
        raise LantmError(f"the geometry {geometry!r} cannot have the radius {radius}: give a number from 0.001 to 1e6")
