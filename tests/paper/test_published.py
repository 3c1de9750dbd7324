"""The paper's figures, by task, model and multiple of the training lengths."""

import pytest

from lantm.paper.published import LANGUAGE, sequence_figures


@pytest.mark.parametrize(
    ("task", "model", "scale", "expected"),
    [
        ("copy", "lstm", 1, (58, 97)),
        ("copy", "lantm-softmax", 2, (99, 100)),
        ("reverse", "lantm-softmax", 1, (1, 12)),
        ("reverse", "lantm-invnorm", 5, (12, 65)),
        ("bigramFlip", "lantm-invnorm", 8, (12, 96)),
        ("double", "lantm-invnorm", 4, (86, 99)),
        ("addition", "lantm-invnorm", 2, (99, 100)),
        ("addition", "lantm-invnorm", 4, (2, 95)),
        ("addition", "lstm", 2, (6, 64)),
    ],
)
def test_of_sequences(task: str, model: str, scale: int, expected: tuple[int, int]) -> None:
    coarse, fine = expected
    assert sequence_figures(task, model)[f"{scale}x"] == {"coarse": coarse, "fine": fine}


def test_of_texts() -> None:
    """The table of section 4.3; LANTM-InvNorm is its best model."""
    assert LANGUAGE["lstm"] == {"validation": 130, "test": 124}
    assert min(LANGUAGE, key=lambda model: LANGUAGE[model]["test"]) == "lantm-invnorm"


def test_there_may_be_none() -> None:
    assert sequence_figures("addition", "lstm").keys() == {"1x", "2x"}
    assert sequence_figures("yours.module:Task", "lstm") == {}
