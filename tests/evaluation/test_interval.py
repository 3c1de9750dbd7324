"""Wilson's interval, against its definition: the shares that the counted one does not refute."""

import pytest

from lantm.evaluation import wilson


@pytest.mark.parametrize(("right", "problems"), [(0, 10), (3, 10), (50, 64), (127, 128), (128, 128)])
def test_the_bounds_are_just_not_refuted(right: int, problems: int) -> None:
    """At a bound p, the counted share is 1.96 standard deviations sqrt(p (1 - p) / n) away, or p is 0 or 1."""
    for bound in wilson(right, problems):
        deviation = (bound * (1 - bound) / problems) ** 0.5
        if right not in (0, problems) or 0 < bound < 1:
            assert abs(right / problems - bound) == pytest.approx(1.96 * deviation, rel=1e-9)
    low, high = wilson(right, problems)
    assert 0 <= low <= right / problems <= high <= 1


def test_nothing_is_known_of_no_problems() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
