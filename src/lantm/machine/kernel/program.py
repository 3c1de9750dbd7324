"""The text of the kernels for one machine: its sizes and switches as macros, its formulas, and the common source."""

import dataclasses
import importlib.resources
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from lantm.machine.access import Access
from lantm.machine.kernel.formulas import c_function
from lantm.machine.kernel.heads import columns, formulas
from lantm.machine.memory import DropOldest
from lantm.machine.settling import RATIO
from lantm.machine.state import Machinery

_FEWEST_THREADS = 256
_HELD = 104  # weights that a thread holds in registers at most
_MOST_SHARED = 227 * 1024  # bytes of shared memory that a block can have, on chips from compute capability 9.0 on
_SOURCES = importlib.resources.files(__package__) / "source"


@dataclasses.dataclass(frozen=True)
class Shape:
    """How the kernels of a machine are laid out over threads and shared memory. Sizes are in numbers, not in bytes."""

    access: Access
    cells: int
    rows: int
    """Problems per block."""
    slots: int
    memory_shared: bool
    """Whether the memories are in shared memory; elsewhere they are in global memory."""

    @property
    def threads(self) -> int:
        """Per block: at least one for every column of any product, in whole warps."""
        return -(-max(_FEWEST_THREADS, *(columns for _, columns in self.products.values())) // 32) * 32

    @property
    def joined(self) -> int:
        """The reading and the hidden state."""
        return self.access.read_heads * self.access.memory_width + self.cells

    @property
    def products(self) -> dict[str, tuple[int, int]]:
        """The inner size and the columns of every matrix product."""
        gates, emission = 4 * self.cells, self.access.emission_size
        return {
            "GATE": (self.joined, gates),
            "EMISSION": (self.cells, emission),
            "BACK": (gates, self.joined),
            "EMISSION_BACK": (emission, self.cells),
        }

    def parts(self, product: str) -> int:
        """The number of threads that share a column."""
        return _power_of_two(self.threads // self.products[product][1], 8)

    def share(self, product: str) -> int:
        """The weights of a column that belong to one thread."""
        return _in_fours(-(-self.products[product][0] // self.parts(product)))

    def stride(self, product: str) -> int:
        """The distance of the rows that are multiplied."""
        return self.share(product) * self.parts(product)

    @property
    def warps_per_row(self) -> int:
        """Warps that look through the memories of one problem."""
        return max(1, self.threads // 32 // self.rows)

    @property
    def vector_stride(self) -> int:
        """The distance of memory vectors: in shared memory an odd number of fours, so that lanes meet all banks."""
        width = self.access.memory_width
        if not self.memory_shared:
            return width
        fours = -(-width // 4)
        return 4 * (fours + 1 - fours % 2)

    def memory_size(self) -> int:
        """What the memories of a block take in shared memory."""
        if not self.memory_shared:
            return 0
        per_slot, key = self.rows * self.slots, self.access.geometry.key_size
        return per_slot * self.vector_stride + _in_fours(per_slot * key) + _in_fours(per_slot)

    @property
    def forward_state(self) -> tuple[int, int]:
        """Where in shared memory the forward kernel has its neighbours, and where its memories begin."""
        access, rows = self.access, self.rows
        geometry, per_head = access.geometry, rows * self.warps_per_row * access.read_heads
        state = 3 * rows * 4 * self.cells + rows * (self.stride("GATE") + self.stride("EMISSION"))
        state += _in_fours(rows * access.emission_size) + _in_fours(rows * self.cells)
        state += rows * access.heads * (geometry.key_size + geometry.action_size + 1) + 2 * per_head
        return _in_fours(state), _in_fours(_in_fours(state) + 3 * per_head)

    @property
    def backward_state(self) -> int:
        """Where in shared memory the memories of the backward kernel begin."""
        access, rows = self.access, self.rows
        key, action = access.geometry.key_size, access.geometry.action_size
        state = rows * (self.stride("BACK") + self.stride("EMISSION_BACK") + access.read_heads * self.reading_stride)
        state += 3 * rows * self.cells + rows * access.heads * (key + action)
        state += rows * self.warps_per_row * access.read_heads * (key + 1)
        reading = access.read_heads * access.memory_width
        fetched = 6 * self.cells + access.emission_size + access.heads * (key + action)
        fetched += access.read_heads * (key + 2) + reading
        return _in_fours(state + 2 * rows * fetched)

    @property
    def reading_stride(self) -> int:
        """The distance of the cotangents of readings."""
        return _in_fours(self.access.memory_width)

    def shared(self, backwards: bool) -> int:
        """The numbers in shared memory of either kernel."""
        if backwards:
            return self.backward_state + 2 * self.memory_size()
        weights = self.rows * self.access.read_heads * self.slots if self.memory_shared else 0
        return self.forward_state[1] + self.memory_size() + weights

    @property
    def blocks(self) -> int:
        """Blocks that a multiprocessor should have room for, as far as registers go."""
        return 2 if self.threads <= 256 else 1


def choose_shape(access: Access, cells: int, slots: int, problems: int, processors: int) -> Shape | None:
    """How to lay out so many problems over so many multiprocessors; None if a problem's state does not fit."""
    rows = next((rows for rows in (1, 2, 4) if problems <= 2 * rows * processors), 8)
    for memory_shared in (True, False):
        fewer = rows
        while fewer:
            shape = Shape(access, cells, fewer, slots, memory_shared)
            room = _MOST_SHARED // shape.blocks if memory_shared and fewer > 1 else _MOST_SHARED
            if 4 * max(shape.shared(False), shape.shared(True)) <= room:
                return shape
            fewer //= 2
    return None


def _power_of_two(most: int, limit: int) -> int:
    """The largest power of two up to both."""
    found = 1
    while 2 * found <= min(most, limit):
        found *= 2
    return found


def _in_fours(size: int) -> int:
    return -(-size // 4) * 4


def macros(machinery: Machinery, shape: Shape) -> dict[str, Any]:
    """What the common source is told about a machine."""
    access, policy = machinery.access, machinery.policy
    sizes, vectors_at = access.sizes, 0
    for name in ("keys", "key_gates", "actions", "action_gates"):
        vectors_at += sizes[name]
    drops = (policy.limit, policy.drop) if isinstance(policy, DropOldest) else (0, 0)
    items = shape.rows * access.read_heads * access.memory_width
    return {
        "ROWS": shape.rows,
        "THREADS": shape.threads,
        "BLOCKS": shape.blocks,
        "CELLS": shape.cells,
        "WIDTH": access.memory_width,
        "READ_HEADS": access.read_heads,
        "WRITE_HEADS": access.write_heads,
        "KEY": access.geometry.key_size,
        "ACTION": access.geometry.action_size,
        "EMISSION": access.emission_size,
        "VECTORS_AT": vectors_at,
        "READ_SEES_WRITE": int(access.read_sees_write),
        "SETTLE_READS": int(access.settle_reads),
        "SETTLING_RATIO": f"real({RATIO})",
        "ASKS_FOR_NEAREST": int(access.weighting.asks_for_nearest),
        "DROP_LIMIT": drops[0],
        "DROP": drops[1],
        "MEMORY_SHARED": int(shape.memory_shared),
        "VECTOR_STRIDE": shape.vector_stride,
        "READING_STRIDE": shape.reading_stride,
        "READING_PARTS": _power_of_two(shape.threads // items, 8) if items <= shape.threads else 1,
        "FORWARD_NEIGHBOURS": shape.forward_state[0],
        "FORWARD_MEMORY": shape.forward_state[1],
        "BACKWARD_MEMORY": shape.backward_state,
        **{f"{product}_PARTS": shape.parts(product) for product in shape.products},
        "HELD_GATES": _is_held(shape, "GATE"),
        "HELD_EMISSION": _is_held(shape, "EMISSION"),
        "HELD_BACK": _is_held(shape, "BACK"),
        "HELD_EMISSION_BACK": _is_held(shape, "EMISSION_BACK"),
    }


def _is_held(shape: Shape, product: str) -> str:
    """Whether threads hold the weights of a product: all of the larger ones, or they would not fit."""
    held = {"GATE", "EMISSION"} if product in ("GATE", "EMISSION") else {"BACK", "EMISSION_BACK"}
    return "true" if sum(shape.share(one) for one in held) <= _HELD + 24 else "false"


def _dispatch(access: Access) -> Iterator[str]:
    """Functions that take the numbers of a head out of an emission, and put their cotangents there."""
    places = [columns(access, head) for head in range(access.heads)]

    def cases(line: str, after: str = "") -> str:
        found = []
        for head, at in enumerate(places):
            emitted = ", ".join(f"emission[{place}]" for place in at)
            put = " ".join(f"d_emission[{place}] = d_emitted[{i}];" for i, place in enumerate(at)) if after else ""
            found.append(
                f"    case {head}: {{ const real emitted[] = {{{emitted}}}; {after.format(size=len(at))}"
                f"{line.format(head=head)} {put} break; }}"
            )
        return "\n".join(found)

    yield (
        "__device__ inline void move_head(int head, const real* emission, const real* key, const real* action, "
        "real* new_key, real* new_action, real* extra) {\n  switch (head) {\n"
        + cases("move_{head}(emitted, key, action, new_key, new_action, extra);")
        + "\n  }\n}"
    )
    yield (
        "__device__ inline void pull_head(int head, const real* emission, const real* key, const real* action, "
        "const real* d_key, const real* d_action, real d_extra, real* d_emission, real* d_old_key, real* d_old_action) {\n"
        "  switch (head) {\n"
        + cases(
            "pull_move_{head}(emitted, key, action, d_key, d_action, d_extra, d_emitted, d_old_key, d_old_action);",
            "real d_emitted[{size}]; ",
        )
        + "\n  }\n}"
    )
    if access.weighting.emits_temperature:
        yield c_function("temperature", jax.nn.softplus, [("x", None)], [("y", None)], jnp.float32)
        at = access.emission_size - access.read_heads
        yield f"#define TEMPERATURE(emission, head) temperature((emission)[{at} + head])"
    else:
        yield "#define TEMPERATURE(emission, head) real(0)"


@lru_cache
def program_text(machinery: Machinery, shape: Shape, emulated: str | None = None) -> str:
    """All of the source. Emulated, `real` is that C type, and the program runs on a CPU."""
    dtype = jnp.float64 if emulated == "double" else jnp.float32
    defined = [f"#define {name} {value}" for name, value in macros(machinery, shape).items()]
    common = "emulation.h" if emulated else "device.h"
    if emulated:
        defined.append(f"#define EMULATED_REAL {emulated}")
    parts = [
        "\n".join(defined),
        _source(common),
        *formulas(machinery, dtype),
        *_dispatch(machinery.access),
        _source("recurrence.cu"),
        *([_source("emulated_launch.h")] if emulated else []),
    ]
    return "\n\n".join(parts)


def _source(name: str) -> str:
    return (_SOURCES / name).read_text()
