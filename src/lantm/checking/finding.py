"""`Finding`: the result of testing one law, with a counterexample if the law is broken."""

from typing import Any, NamedTuple

import numpy as np


class Finding(NamedTuple):
    """A law, and a counterexample if it does not hold."""

    law: str
    cases: int
    """The number of tested cases; 0 if it could not be tested."""
    counterexample: str | None = None
    """A case in which the law does not hold, or the reason why it could not be tested."""
    note: str | None = None
    """What the user should know although the law holds, such as which cases were left out."""

    @property
    def broken(self) -> bool:
        """Whether the law does not hold."""
        return self.cases > 0 and self.counterexample is not None


def shown(value: Any) -> str:
    """Numbers as text, in one line."""
    return np.array2string(np.asarray(value), precision=4, separator=", ", threshold=12).replace("\n", "")


def finite(law: str, values: Any, given: dict[str, Any]) -> Finding:
    """Tests that all numbers of every case are finite; `values` and `given` have a leading axis of cases."""
    values = np.asarray(values)
    wrong = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    return Finding(law, len(values), _case(wrong, values, given) if wrong.any() else None)


def _case(wrong: np.ndarray, values: np.ndarray, given: dict[str, Any]) -> str:
    at = int(np.argmax(wrong))
    return f"{shown(values[at])} for " + ", ".join(f"{name} {shown(value[at])}" for name, value in given.items())
