"""The confidence interval of a fraction that was estimated on some problems."""

import math


def wilson(right: float, problems: int, deviations: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a fraction, 95% by default. It stays within 0 and 1, also if all answers are right.

    >>> low, high = wilson(100, 100)
    >>> round(low, 3), high
    (0.963, 1.0)
    """
    if problems < 1:
        return 0.0, 1.0
    share, square = right / problems, deviations**2 / problems
    middle = (share + square / 2) / (1 + square)
    half = deviations / (1 + square) * math.sqrt(share * (1 - share) / problems + square / (4 * problems))
    # If all are right, or none, one bound is exact; rounding would move it a little inside.
    return (0.0 if right == 0 else max(0.0, middle - half)), (1.0 if right == problems else min(1.0, middle + half))
