"""`Batch`: a padded batch of problems with its masks. Tasks produce it, models consume it."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


class Batch(eqx.Module):
    """A batch of problems. Time is the first axis, so that a step of the recurrence reads one contiguous row.

    For copy, the problem `a b c` is

        inputs    <s>  a    b    c    </s>  </s>  </s>  </s>
        targets   .    .    .    .    a     b     c     <e>
        mask      0    0    0    0    1     1     1     1

    with 8 steps and 4 writes. A shorter problem in the same batch continues with `</s>`, unmasked, after its `<e>`.
    Rows from `steps` on are padding for every problem and need not be run.
    """

    inputs: Int[Array, "time batch"]
    """`<s> input </s> </s> ...`: the answer is never fed back (section 4.1 of the paper)."""
    targets: Int[Array, "time batch"]
    """The expected symbol at each step; `<e>` where the mask is false."""
    mask: Bool[Array, "time batch"]
    """True at the steps of the answer, including its `<e>`: from the first `</s>` on."""
    steps: Int[Array, ""]
    """The number of steps of the longest problem, at most `time`."""
    writes: Int[Array, " batch"]
    """The number of steps in which the machine may write: `<s>` and the input, not the answer (appendix A.1)."""
    write_capacity: int = eqx.field(static=True)
    """An upper bound on `writes` for any problem that fits these arrays."""
    answer_capacity: int = eqx.field(static=True)
    """An upper bound on the number of steps from the first `</s>` of the batch to its last `<e>`."""
    turn: Int[Array, ""] | None = None
    """The step from which on no problem writes, if known before the problems are drawn; by default the largest of
    `writes`. With it, seeds whose problems differ in size run for the same number of steps."""


def mixed(chosen: Bool[Array, " batch"], one: Batch, other: Batch) -> Batch:
    """The problems of `one` where `chosen` is true, otherwise those of `other`; shapes and capacities must agree."""
    return Batch(
        inputs=jnp.where(chosen, one.inputs, other.inputs),
        targets=jnp.where(chosen, one.targets, other.targets),
        mask=jnp.where(chosen, one.mask, other.mask),
        steps=jnp.maximum(one.steps, other.steps),
        writes=jnp.where(chosen, one.writes, other.writes),
        write_capacity=one.write_capacity,
        answer_capacity=one.answer_capacity,
        turn=None if one.turn is None or other.turn is None else jnp.maximum(one.turn, other.turn),
    )


def side_by_side(drawn: Batch) -> Batch:
    """Combines batches of one problem each, along a leading axis, into a single batch."""
    return dataclasses.replace(
        drawn,
        inputs=drawn.inputs[..., 0].T,
        targets=drawn.targets[..., 0].T,
        mask=drawn.mask[..., 0].T,
        steps=jnp.max(drawn.steps),
        writes=drawn.writes[:, 0],
        turn=None if drawn.turn is None else jnp.max(drawn.turn),
    )
