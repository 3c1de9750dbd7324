"""Parameter counts: ours, and how the paper's integers follow from them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.machine import LantmConfig, LstmConfig, parameter_count

MEMORY_WIDTH = 20
SEQUENCES, DIGITS = 128, 14  # symbols


def count(config: LantmConfig | LstmConfig, vocabulary: int) -> int:
    """The count of a model whose numbers were never drawn, which would take longer than to count them."""
    shapes = eqx.filter_eval_shape(config.build, vocabulary, jax.random.key(0))
    return parameter_count(jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), shapes))


def paper_lantm(V: int, E: int, n: int, M: int = MEMORY_WIDTH, temperatures: int = 0, tables: int = 2) -> int:  # noqa: N803
    """What the paper counts as a Lie access machine's parameters."""
    controller = 4 * n * (E + M + n) + 8 * n
    heads = (13 + M + temperatures) * (n + 1)
    readout = V * (n + 1)
    start = 2 * (2 * n + 2 * M + 11)
    return controller + heads + readout + tables * V * E + start


def paper_lstm(V: int, E: int, n: int, layers: int, tables: int = 2, starts: int = 2) -> int:  # noqa: N803
    """What the paper counts as an LSTM's parameters."""
    inputs = [E] + [n] * (layers - 1)
    stack = sum(4 * n * (size + n) + 8 * n for size in inputs)
    return stack + V * (n + 1) + tables * V * E + starts * 2 * layers * n


@pytest.mark.parametrize(
    ("symbols", "config", "published"),
    [
        (SEQUENCES, LantmConfig(embedding=7, cells=50), 26105),  # copy, reverse
        (SEQUENCES, LantmConfig(embedding=7, cells=100), 70155),  # bigramFlip
        (DIGITS, LantmConfig(embedding=14, cells=50), 20291),  # addition
        (DIGITS, LantmConfig(embedding=7, cells=50), 18695),  # double
        (SEQUENCES, LantmConfig(embedding=7, cells=50, weighting="softmax"), 26156),  # copy, reverse
        # These rows of the paper have no temperature.
        (SEQUENCES, LantmConfig(embedding=10, cells=100, weighting="softmax[temperature=1.0]"), 72123),
        (DIGITS, LantmConfig(embedding=14, cells=50, weighting="softmax[temperature=1.0]"), 20291),
    ],
)
def test_lantm(symbols: int, config: LantmConfig, published: int) -> None:
    """The paper has a second LSTM bias, a second embedding, and a dead weight beside every initial number."""
    V, E, n, M = symbols, config.embedding, config.cells, config.memory_width
    temperatures = int(config.weighting == "softmax")
    duplicates = 4 * n + V * E + (2 * n + 2 * M + 11)
    assert count(config, V) + duplicates == published
    assert paper_lantm(V, E, n, M, temperatures) == published


@pytest.mark.parametrize(("symbols", "embedding", "published"), [(DIGITS, 64, 1918222), (SEQUENCES, 7, 1889152)])
def test_lstm(symbols: int, embedding: int, published: int) -> None:
    V, E, n, layers = symbols, embedding, 256, 4
    duplicates = layers * 4 * n + V * E + 2 * layers * n
    assert count(LstmConfig(embedding=E), V) + duplicates == published
    assert paper_lstm(V, E, n, layers) == published


def test_programs() -> None:
    """One embedding table here, of 42 symbols."""
    V, E, n, M = 42, 100, 128, 128
    lantm = LantmConfig(embedding=E, cells=n, memory_width=M)
    assert count(lantm, V) + 4 * n + (2 * n + 2 * M + 11) == paper_lantm(V, E, n, M, tables=1) == 212149
    lstm = LstmConfig(layers=1, embedding=E, cells=n)
    assert count(lstm, V) + 4 * n + 2 * n == paper_lstm(V, E, n, layers=1, tables=1) == 127890


def test_a_start_that_is_not_learnt_does_not_count() -> None:
    """The language LSTM: one embedding table, no learnable initial state."""
    V, E, n = 10_000, 256, 128
    config = LstmConfig(layers=1, embedding=E, cells=n, learn_start=False)
    assert count(config, V) + 4 * n == paper_lstm(V, E, n, layers=1, tables=1, starts=0) == 4047632


def test_switches_that_cost_parameters() -> None:
    """On the machine for copy: the initial slot, further heads, a temperature for each reading."""
    n, M = 50, MEMORY_WIDTH
    plain = count(LantmConfig(), SEQUENCES)
    assert count(LantmConfig(initial_slot=False), SEQUENCES) == plain - (2 + M + 1)
    # A read head: its emission, its key and step at the start, and its reading as an input and at the start.
    read_head = 6 * (n + 1) + 4 + M * 4 * n + M
    assert count(LantmConfig(read_heads=2), SEQUENCES) == plain + read_head
    write_head = (6 + M + 1) * (n + 1) + 4
    assert count(LantmConfig(write_heads=2), SEQUENCES) == plain + write_head
    assert count(LantmConfig(weighting="softmax", read_heads=3), SEQUENCES) == plain + 2 * read_head + 3 * (n + 1)
