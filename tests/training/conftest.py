"""What trainings take in one call to the device."""

from collections.abc import Callable

import pytest

from lantm.training import pace


@pytest.fixture
def batches_per_call(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets every call to the device learn from so many batches: epochs then take several."""

    def set_pace(batches: int) -> None:
        def begin(self: pace.Pace, most: int) -> None:
            self.batches = batches

        monkeypatch.setattr(pace.Pace, "__init__", begin)
        monkeypatch.setattr(pace.Pace, "__enter__", lambda self: None)
        monkeypatch.setattr(pace.Pace, "__exit__", lambda self, *_: None)

    return set_pace
