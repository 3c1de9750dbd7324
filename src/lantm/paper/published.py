"""The scores that the paper published: coarse and fine percentages, and perplexities."""

Figures = dict[str, int]
"""A cell of the paper's tables, in whole percent."""


def _figures(coarse: int, fine: int) -> Figures:
    return {"coarse": coarse, "fine": fine}


SEQUENCES: dict[tuple[str, str], dict[int, Figures]] = {
    ("copy", "lantm-invnorm"): {1: _figures(100, 100), 2: _figures(100, 100)},
    ("copy", "lantm-softmax"): {1: _figures(100, 100), 2: _figures(99, 100)},
    ("copy", "lstm"): {1: _figures(58, 97), 2: _figures(0, 52)},
    ("reverse", "lantm-invnorm"): {1: _figures(100, 100), 2: _figures(100, 100)},
    ("reverse", "lantm-softmax"): {1: _figures(1, 12), 2: _figures(0, 4)},
    ("reverse", "lstm"): {1: _figures(65, 95), 2: _figures(0, 44)},
    ("bigramFlip", "lantm-invnorm"): {1: _figures(100, 100), 2: _figures(99, 100)},
    ("bigramFlip", "lantm-softmax"): {1: _figures(12, 40), 2: _figures(0, 10)},
    ("bigramFlip", "lstm"): {1: _figures(98, 100), 2: _figures(4, 58)},
    ("double", "lantm-invnorm"): {1: _figures(100, 100), 2: _figures(100, 100)},
    ("double", "lantm-softmax"): {1: _figures(100, 100), 2: _figures(100, 100)},
    ("double", "lstm"): {1: _figures(98, 100), 2: _figures(2, 60)},
    ("addition", "lantm-invnorm"): {1: _figures(100, 100), 2: _figures(99, 100)},
    ("addition", "lantm-softmax"): {1: _figures(17, 61), 2: _figures(0, 29)},
    ("addition", "lstm"): {1: _figures(97, 100), 2: _figures(6, 64)},
}
"""By task and model, at 1x and 2x the training lengths (section 4.1, table of results)."""

FURTHER: dict[tuple[str, str], dict[int, Figures]] = {
    ("copy", "lantm-invnorm"): {4: _figures(100, 100), 5: _figures(91, 100)},
    ("reverse", "lantm-invnorm"): {4: _figures(91, 98), 5: _figures(12, 65)},
    ("bigramFlip", "lantm-invnorm"): {4: _figures(96, 100), 8: _figures(12, 96)},
    ("double", "lantm-invnorm"): {4: _figures(86, 99), 8: _figures(21, 90)},
    ("addition", "lantm-invnorm"): {4: _figures(2, 95)},
}
"""At larger multiples of the longest training length, where the paper gives them."""

_PERFECT = _figures(100, 100)
SECOND: dict[tuple[str, str, str], Figures] = {
    **{(task, "lantm-invnorm", "translation"): _PERFECT for task in ("copy", "reverse", "bigramFlip", "double")},
    ("addition", "lantm-invnorm", "translation"): _figures(93, 99),
    ("oddFirst", "lantm-invnorm", "translation"): _figures(95, 99),
    ("repeatCopy", "lantm-invnorm", "translation"): _figures(0, 70),
    ("prioritySort", "lantm-invnorm", "translation"): _figures(72, 98),
    ("repeatCopy", "lantm-invnorm", "sphere"): _figures(78, 99),
    ("prioritySort", "lantm-softmax", "sphere"): _PERFECT,
    ("repeatCopy", "ram", ""): _figures(98, 99),
}
"""Approximate scores of the second paper: by task, model and key space, at 2x, after 320,000 training problems."""

PROGRAMS: dict[tuple[str, str], Figures] = {
    ("all", "lstm"): _figures(35, 66),
    ("all", "lantm-invnorm"): _figures(39, 74),
    ("all", "lantm-softmax"): _figures(35, 67),
    ("loop", "lstm"): _figures(0, 51),
    ("loop", "lantm-invnorm"): _figures(0, 55),
    ("loop", "lantm-softmax"): _figures(0, 55),
}
"""By kinds of programs and model, on programs of four digits (section 4.2, both tables)."""


LANGUAGE: dict[str, dict[str, int]] = {
    "lantm-invnorm": {"validation": 128, "test": 123},
    "lantm-softmax": {"validation": 134, "test": 130},
    "lstm": {"validation": 130, "test": 124},
}
"""Perplexities on the Penn Treebank (section 4.3)."""


def sequence_figures(task: str, model: str) -> dict[str, Figures]:
    """The paper's scores for a task and a model, by multiple of the training lengths: 1x, 2x, ..."""
    found = {**SEQUENCES.get((task, model), {}), **FURTHER.get((task, model), {})}
    return {f"{scale}x": figures for scale, figures in found.items()}


def second_figures(task: str, model: str, geometry: str) -> dict[str, Figures]:
    """The second paper's scores for a task, a model and its key space (if any); empty if unknown."""
    found = SECOND.get((task.partition("[")[0], model, geometry))
    return {} if found is None else {"2x": found}
