"""What the kernels are compiled for, and what they hand on to each other."""

from typing import NamedTuple

from jaxtyping import Array, Float

from lantm.machine.access import Access

ROWS = 16  # problems a block: the least that a matrix unit multiplies at once
CHUNKED = 8192  # numbers of memory vectors that a block looks at together
WARPS = 8  # of 32 threads, for every block
HELD = 64  # cells and width up to which a multiprocessor holds the weights


class Sizes(NamedTuple):
    """The sizes a kernel is compiled for."""

    time: int
    batch: int
    cells: int
    slots: int

    @property
    def blocks(self) -> int:
        """The number of blocks of problems."""
        return -(-self.batch // ROWS)

    @property
    def missing(self) -> int:
        """The number of problems that the last block lacks."""
        return self.blocks * ROWS - self.batch


class Saved(NamedTuple):
    """What the forward kernel leaves for the backward one: row t of a state is the one before step t."""

    reading: Float[Array, "time+1 batch read_heads width"]
    hidden: Float[Array, "time+1 batch cells"]
    cell: Float[Array, "time+1 batch cells"]
    keys: Float[Array, "time+1 batch heads key"]
    actions: Float[Array, "time+1 batch heads action"]
    gates: Float[Array, "time batch 4 cells"]
    scalars: Float[Array, "time batch scalars"]  # the emissions, but for vectors
    vectors: Float[Array, "time batch write_heads width"]  # the vectors it wrote, before they were squashed
    totals: Float[Array, "time batch read_heads"]  # the sums that read weights were divided by
    nearest: Float[Array, "time batch read_heads"]  # the smallest distances, where the weighting asks for them


def padded(size: int) -> int:
    """Arrays inside a kernel have sizes that are powers of two, and matrices sides of at least 16."""
    return max(16, 1 << (size - 1).bit_length())


def scalar_columns(access: Access) -> int:
    """How many numbers the controller emits besides vectors."""
    return access.emission_size - access.sizes["vectors"]
