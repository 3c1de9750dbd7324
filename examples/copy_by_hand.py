"""A machine that nobody trained: its weights are set by hand, and it copies inputs of any length.

The write head walks along a line, one step a symbol. While the input is read, the read head waits at the first
symbol; from the first `</s>` on, it walks along the same line. That is what trained machines do too (paper, section
4.1), but they do it approximately and lose their way on inputs much longer than those they were trained on.

    from examples.copy_by_hand import copy_machine
    model = copy_machine()
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lantm.machine import Lantm, LantmConfig
from lantm.tasks import make_task

BITS = 7  # a symbol is a code of seven signs, in the embedding, in memory and in the controller
SURE = 20.0  # a preactivation that saturates whatever it enters

# The controller's cells. None remembers: each says what it sees in one step.
SYMBOL = slice(0, BITS)  # the code of the symbol that is read
FOUND = slice(BITS, 2 * BITS)  # the code in the reading of the step before
ANSWERING = 2 * BITS  # whether the symbol is </s>
BEAT = ANSWERING + 1  # +, -, +, - from step to step
AT_PLUS, AT_MINUS = BEAT + 1, BEAT + 2  # whether the reading is that of one memory, written at such a beat
SEEN = float(np.tanh(1.0))  # what a saturated cell shows


def copy_machine(cells: int = 50, memory_width: int = 20) -> Lantm:
    """The machine, by default of the sizes that the paper's copy machines have."""
    config = LantmConfig(cells=cells, memory_width=memory_width, embedding=BITS, initial_slot=False)
    task = make_task("copy")
    codes = 2.0 * (np.arange(task.vocabulary)[:, None] >> np.arange(BITS) & 1) - 1
    blank = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), _shapes(config, task.vocabulary))

    # The controller: input and output gates open, forget gates closed, candidates from symbol, reading and beat.
    _, forget, _, candidate = np.split(np.arange(4 * cells), 4)
    bias = np.full(4 * cells, SURE)
    bias[forget] = -SURE
    bias[candidate] = 0
    symbols = np.zeros((BITS, 4 * cells))
    symbols[:, candidate[SYMBOL]] = SURE * np.eye(BITS)
    symbols[:, candidate[ANSWERING]] = SURE * codes[task.end_of_input]
    bias[candidate[ANSWERING]] = -SURE * (BITS - 1)  # two codes agree in all bits, or in all but one at most
    recurrent = np.zeros((memory_width + cells, 4 * cells))
    recurrent[SYMBOL, candidate[FOUND]] = SURE * np.eye(BITS)
    recurrent[memory_width + BEAT, candidate[BEAT]] = -SURE
    # The beats of one memory are +-1; past the last memory, where neighbours blend, they cancel to about a half.
    for cell, sign in ((AT_PLUS, 1), (AT_MINUS, -1)):
        recurrent[BITS, candidate[cell]] = 4 * SURE * sign
        bias[candidate[cell]] = -3 * SURE

    # The heads. Gates at 0 keep what was; the read head takes its candidate key until the answer begins.
    starts = np.cumsum([0, *config.access.sizes.values()])
    key, key_gate, _, action_gate, vector, strength, _ = (slice(*ends) for ends in itertools.pairwise(starts))
    heads_bias = np.zeros(starts[-1])
    heads = np.zeros((cells, starts[-1]))
    heads_bias[key] = [1, 0, 0, 0]  # with the next step, where the first symbol of the input will be
    heads_bias[action_gate] = -5 * SURE
    heads_bias[key_gate] = [0, -5 * SURE]
    heads[ANSWERING, key_gate] = [-10 * SURE, 0]
    heads_bias[strength] = SURE
    heads[SYMBOL, vector][:, :BITS] = SURE * np.eye(BITS)
    heads[BEAT, vector.start + BITS] = SURE

    # The answer: the symbol whose code was found, or <e> if what was found was not one memory.
    readout = np.zeros((cells, task.vocabulary))
    readout[FOUND] = codes.T
    readout[[AT_PLUS, AT_MINUS], task.end_of_output] = -SURE
    readout_bias = np.zeros(task.vocabulary)
    readout_bias[task.end_of_output] = -SURE * SEEN

    hidden = np.zeros(cells)
    hidden[BEAT] = SEEN
    model = eqx.tree_at(
        lambda m: (
            m.embedding, m.layer.controller.inputs.weight, m.layer.controller.inputs.bias,
            m.layer.controller.recurrent, m.layer.heads.weight, m.layer.heads.bias, m.readout.weight, m.readout.bias,
            m.layer.controller.start.hidden, m.layer.start.steps,
        ),
        blank,
        (codes, symbols, bias, recurrent, heads, heads_bias, readout, readout_bias, hidden,
         np.array([[1.0, 0], [1, 0]])),
    )  # fmt: skip
    return jax.tree.map(jnp.asarray, jax.tree.map(lambda leaf: leaf.astype(jnp.zeros(()).dtype), model))


def _shapes(config: LantmConfig, vocabulary: int) -> Lantm:
    return eqx.filter_eval_shape(config.build, vocabulary, jax.random.key(0))
