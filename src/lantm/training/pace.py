"""`Pace`: the number of batches per call to the device, so that training can be interrupted within an epoch."""

import time

_SECONDS_PER_CALL = 1.0  # between two moments at which training can be stopped


class Pace:
    """The number of batches per call: few at first, then as many as fit into its time, at most an epoch."""

    def __init__(self, most: int) -> None:
        self.batches = min(4, most)
        self._most = most
        self._calls = 0

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        taken = time.monotonic() - self._began
        self._calls += 1
        if self._calls > 1:  # the first one compiles
            fitting = self.batches * _SECONDS_PER_CALL / max(taken, 1e-6)
            self.batches = max(1, int(min(fitting, 8 * self.batches, self._most)))
