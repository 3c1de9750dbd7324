"""A small text in three files, and machines small enough to read it in no time."""

import pathlib
import random
import sys
from collections.abc import Callable

import pytest
from small_machines import MACHINES

from lantm.language import Corpus, LanguageExperiment, LanguageRecipe, read_corpus

# The machines of the paper in NumPy, written to test the library's.
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "machine"))

SUBJECTS, VERBS, OBJECTS = ("the", "a", "one"), ("reads", "writes", "keeps", "loses"), ("key", "memory", "step")


def sentences(count: int, seed: int) -> str:
    """Lines in which the words say something about the next: there is something to learn."""
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        noun = draw.choice(OBJECTS)
        lines.append(f" {draw.choice(SUBJECTS)} head {draw.choice(VERBS)} its {noun} {noun} \n")
    return "".join(lines)


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Not to be changed."""
    folder = tmp_path_factory.mktemp("text")
    for part, count in (("train", 60), ("valid", 15), ("test", 11)):
        (folder / f"tiny.{part}.txt").write_text(sentences(count, seed=count))
    return folder


@pytest.fixture(scope="session")
def corpus(text_folder: pathlib.Path) -> Corpus:
    return read_corpus(text_folder)


@pytest.fixture(scope="session")
def language(text_folder: pathlib.Path, corpus: Corpus) -> Callable[..., LanguageExperiment]:
    """Makes an experiment with a model and changes to the recipe."""

    def make(model: str = "lantm-invnorm", seeds: int = 2, **changes: object) -> LanguageExperiment:
        recipe = LanguageRecipe(**{"learning_rate": 0.1, "epochs": 3, "batch_size": 5, "steps": 4} | changes)
        return LanguageExperiment(
            str(text_folder), corpus.digest, 10_000, model, MACHINES[model], recipe, seeds=seeds, first_seed=3
        )

    return make
