"""A small text to learn, and machines small enough to read it in no time."""

import pathlib
import random

from lantm.machine import LantmConfig, LstmConfig

LANTM = LantmConfig(
    cells=6, embedding=4, memory_width=3, memory_limit=9, memory_drop=5, normalise_steps=False, forget_bias=1.0
)
MACHINES = {
    "lantm-invnorm": LANTM,
    "lantm-softmax": LantmConfig(
        weighting="softmax", cells=6, embedding=4, memory_width=3, memory_limit=8, memory_drop=8
    ),
    "lstm": LstmConfig(layers=1, cells=6, embedding=4, learn_start=False, state_range=0.0),
}

SUBJECTS, VERBS, OBJECTS = ("the", "a", "one"), ("reads", "writes", "keeps", "loses"), ("key", "memory", "step")


def write_text(folder: pathlib.Path) -> None:
    """Three files of lines in which the words say something about the next: there is something to learn."""
    for part, count in (("train", 60), ("valid", 15), ("test", 11)):
        draw = random.Random(count)
        lines = []
        for _ in range(count):
            noun = draw.choice(OBJECTS)
            lines.append(f" {draw.choice(SUBJECTS)} head {draw.choice(VERBS)} its {noun} {noun} \n")
        (folder / f"tiny.{part}.txt").write_text("".join(lines))
