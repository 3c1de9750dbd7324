"""`Pace`: the number of batches per call to the device, so that training can be interrupted within an epoch."""

import time

_SECONDS_PER_CALL = 1.0  # target duration of a call; training can be stopped between calls


class Pace:
    """The number of batches per call: small at first, then as many as fit into a second, at most an epoch."""

    def __init__(self, most: int) -> None:
        self.batches = min(4, most)
        self._most = most
        self._calls = 0

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        taken = time.monotonic() - self._began
        self._calls += 1
        if self._calls > 1:  # the first call compiles
            fitting = self.batches * _SECONDS_PER_CALL / max(taken, 1e-6)
            self.batches = max(1, int(min(fitting, 8 * self.batches, self._most)))
