"""A text run piece by piece is the text run at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import SEVERAL_HEADS, assert_near, build, quick, small_lantm, small_lstm

from lantm.machine import LantmConfig, LstmConfig, Memory, Model, Schedule, Window
from lantm.machine.state import Carried

pytestmark = pytest.mark.usefixtures("double_precision")

BATCH, VOCABULARY = 2, 128
PIECES = [5, 3, 5, 1, 4, 5]  # in arrays of 5
TEXT = np.random.default_rng(0).integers(VOCABULARY, size=(sum(PIECES), BATCH))
MODELS = {
    "invnorm": small_lantm(),
    "softmax, no initial slot": small_lantm(weighting="softmax", initial_slot=False),
    "drops the oldest": small_lantm(memory_limit=6, memory_drop=4),
    "drops the oldest, several heads": small_lantm(**SEVERAL_HEADS, memory_limit=8, memory_drop=5),
    "lstm": small_lstm(),
}


@quick
def run(model: Model, text: jax.Array, steps: jax.Array, carried: Carried) -> tuple[jax.Array, Carried]:
    """Language modelling writes at every step."""
    return model.run(text, Schedule(steps, jnp.full(BATCH, steps)), carried)


def remembered(memory: Memory, window: Window) -> list[np.ndarray]:
    return [np.asarray(field)[:, int(window.first) : int(window.end)] for field in memory]


FURTHER = ("invnorm", "drops the oldest")  # what they have, others have too


@pytest.mark.parametrize(
    "config",
    [pytest.param(one, marks=pytest.mark.thorough if name in FURTHER else ()) for name, one in MODELS.items()],
    ids=MODELS.keys(),
)
def test_piece_by_piece_is_at_once(config: LantmConfig | LstmConfig) -> None:
    model = build(config)
    features, ended = run(model, TEXT, jnp.array(len(TEXT)), model.begin(BATCH, slots=len(TEXT)))

    # A memory that forgets needs room for what it keeps and for one more piece, however long the text is.
    limit = config.memory_limit if isinstance(config, LantmConfig) else None
    slots = len(TEXT) if limit is None else max(PIECES) + -(-limit // config.write_heads)
    carried = model.begin(BATCH, slots)
    start = 0
    for steps in PIECES:
        piece = np.zeros((max(PIECES), BATCH), int)
        piece[:steps] = TEXT[start : start + steps]
        rows, carried = run(model, piece, jnp.array(steps), carried)
        assert_near(rows[:steps], np.asarray(features[start : start + steps]), f"from {start} on")
        start += steps

    if isinstance(config, LstmConfig):
        for ours, theirs in zip(jax.tree.leaves(carried), jax.tree.leaves(ended), strict=True):
            assert_near(ours, np.asarray(theirs))
        return
    for ours, theirs in zip(jax.tree.leaves(carried.state), jax.tree.leaves(ended.state), strict=True):
        assert_near(ours, np.asarray(theirs))
    assert int(carried.window.first) == 0  # what is carried on starts with the oldest memory
    for ours, theirs in zip(
        remembered(carried.memory, carried.window), remembered(ended.memory, ended.window), strict=True
    ):
        assert_near(ours, theirs)


def test_what_is_carried_matters() -> None:
    """Starting over instead of carrying on gives something else: the test above could fail."""
    model = build(MODELS["invnorm"])
    fresh = model.begin(BATCH, slots=len(TEXT))
    features, _ = run(model, TEXT, jnp.array(len(TEXT)), fresh)
    again, _ = run(model, np.roll(TEXT, -5, axis=0), jnp.array(5), fresh)
    assert np.abs(np.asarray(again[:5] - features[5:10])).max() > 1e-3
