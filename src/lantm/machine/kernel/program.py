"""Assembles the kernel source of one machine: macros for sizes and switches, printed formulas, and the
shared sources."""

import concurrent.futures
import dataclasses
import importlib.resources
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from lantm.machine.access import Access
from lantm.machine.kernel.heads import columns, formulas, starts
from lantm.machine.memory import DropOldest
from lantm.machine.settling import RATIO
from lantm.machine.state import Machinery

_FEWEST_WARPS = 8
_HELD = 104  # maximum number of weights that a thread holds in registers
_HELD_IN_SHARED = 4096  # maximum number of weights that a block holds in shared memory
# Bytes of shared memory per block by the GPU's compute capability; all others have the minimum.
_SHARED_MEMORY = {"8.0": 163 * 1024, "8.7": 163 * 1024, "9.0": 227 * 1024, "10.0": 227 * 1024, "10.3": 227 * 1024}
_LEAST_SHARED_MEMORY = 99 * 1024
_SOURCES = importlib.resources.files(__package__) / "source"


@dataclasses.dataclass(frozen=True)
class Shape:
    """The layout of a machine's kernels over threads and shared memory. Sizes count numbers, not bytes."""

    access: Access
    cells: int
    rows: int
    """Problems per block."""
    slots: int
    memory_shared: bool
    """Whether the memories are in shared memory; otherwise they are in global memory."""
    room: int = _LEAST_SHARED_MEMORY
    """The bytes of shared memory available to a block."""

    @property
    def warps(self) -> int:
        """Warps per block: at least one for every eight cells, and for every head."""
        return max(_FEWEST_WARPS, -(-self.cells // 8), self.access.heads)

    @property
    def threads(self) -> int:
        """Threads per block."""
        return 32 * self.warps

    @property
    def joined(self) -> int:
        """The size of the reading and the hidden state."""
        return self.access.read_heads * self.access.memory_width + self.cells

    def tiles(self, columns: int) -> int:
        """The number of tiles (eight columns of a product) per warp."""
        tiles = -(-columns // 8)
        return -(-tiles // self.warps)

    @property
    def warps_per_row(self) -> int:
        """Warps that search the memories of one problem."""
        return max(1, self.warps // self.rows)

    @property
    def vector_stride(self) -> int:
        """The stride of memory vectors: in shared memory an odd multiple of four, to avoid bank conflicts."""
        width = self.access.memory_width
        if not self.memory_shared:
            return width
        fours = -(-width // 4)
        return 4 * (fours + 1 - fours % 2)

    def memory_size(self) -> int:
        """The size of a block's memories in shared memory."""
        if not self.memory_shared:
            return 0
        per_slot, key = self.rows * self.slots, self.access.geometry.key_size
        return per_slot * self.vector_stride + _in_fours(per_slot * key) + _in_fours(per_slot)

    def emission_weights(self, backwards: bool) -> int:
        """The number of emission weights that a kernel holds in shared memory; 0 if there are too many."""
        emission, tiles = self.access.emission_size, 1 if backwards else self.tiles(self.access.emission_size)
        size = 2 * tiles * -(-(emission if backwards else self.cells) // 8) * self.threads
        return size if size <= _HELD_IN_SHARED else 0

    def state_at(self, backwards: bool) -> int:
        """The offset of the state in shared memory, after the limits of all problems and the weights."""
        return _in_fours(self.rows) + self.emission_weights(backwards)

    @property
    def forward_state(self) -> tuple[int, int]:
        """The offsets of neighbours and of memories in the forward kernel's shared memory."""
        access, rows = self.access, self.rows
        geometry, per_head = access.geometry, rows * self.warps_per_row * access.read_heads
        state = 8 * rows * self.cells + rows * (2 * _stride(self.joined) + _stride(self.cells))
        state += per_head * (self.reading_stride + 2)
        state += rows * (access.emission_size + access.heads * (geometry.key_size + geometry.action_size + 1))
        begin = self.state_at(backwards=False) + _in_fours(state)
        return begin, begin + _in_fours(3 * per_head)

    @property
    def backward_state(self) -> int:
        """The offset of memories in the backward kernel's shared memory."""
        access, rows = self.access, self.rows
        key, action = access.geometry.key_size, access.geometry.action_size
        state = rows * (_stride(4 * self.cells) + _stride(access.emission_size))
        state += rows * (access.read_heads * self.reading_stride + self.cells + access.heads * (key + action))
        state += rows * self.warps_per_row * access.read_heads * (key + 1)
        reading = access.read_heads * access.memory_width
        fetched = 6 * self.cells + access.emission_size + access.heads * (key + action)
        fetched += access.read_heads * (key + 2) + reading
        return self.state_at(backwards=True) + _in_fours(state + 2 * rows * _in_fours(fetched))

    @property
    def reading_stride(self) -> int:
        """The stride of the cotangents of readings."""
        return _in_fours(self.access.memory_width)

    def shared(self, backwards: bool) -> int:
        """The numbers in shared memory of either kernel."""
        state = self.backward_state if backwards else self.forward_state[1]
        return state + self.memory_size() * (2 if backwards and self.back_memory_shared else 1)

    @property
    def back_memory_shared(self) -> bool:
        """Whether the backward kernel has room for the memories too, besides their cotangents."""
        return self.memory_shared and 4 * (self.backward_state + 2 * self.memory_size()) <= self.room

    @property
    def blocks(self) -> int:
        """Blocks of the forward kernel per multiprocessor; the backward kernel needs the registers of two."""
        return 2 if self.threads <= 256 else 1


def shared_memory(capability: str) -> int:
    """The bytes of shared memory per block, by compute capability."""
    return _SHARED_MEMORY.get(capability, _LEAST_SHARED_MEMORY)


def choose_shape(access: Access, cells: int, slots: int, problems: int, processors: int, room: int) -> Shape | None:
    """The layout of `problems` problems over `processors` multiprocessors; None if a problem's state does not fit."""
    rows = next((rows for rows in (1, 2, 4) if problems <= 2 * rows * processors), 8)
    for memory_shared in (True, False):
        fewer = rows
        while fewer:
            shape = Shape(access, cells, fewer, slots, memory_shared, room)
            forward_room = room // shape.blocks if memory_shared and fewer > 1 else room
            if 4 * shape.shared(False) <= forward_room and 4 * shape.shared(True) <= room:
                return shape
            fewer //= 2
    return None


def _stride(inner: int) -> int:
    """The stride of rows that are multiplied with a matrix: a multiple of eight, plus four to avoid bank conflicts."""
    return -(-inner // 8) * 8 + 4


def _in_fours(size: int) -> int:
    return -(-size // 4) * 4


def machine_macros(machinery: Machinery, cells: int) -> dict[str, Any]:
    """The macros for a machine's sizes and switches."""
    access, policy = machinery.access, machinery.policy
    begin = starts(access)
    warm = access.weighting.emits_temperature
    drops = (policy.limit, policy.drop) if isinstance(policy, DropOldest) else (0, 0)
    return {
        "CELLS": cells,
        "WIDTH": access.memory_width,
        "READ_HEADS": access.read_heads,
        "WRITE_HEADS": access.write_heads,
        "KEY": access.geometry.key_size,
        "ACTION": access.geometry.action_size,
        "EMISSION": access.emission_size,
        "VECTORS_AT": begin["vectors"],
        "TEMPERATURE(emission, h)": f"temperature((emission)[{begin['temperatures']} + h])" if warm else "real(0)",
        "READ_SEES_WRITE": int(access.read_sees_write),
        "SETTLE_READS": int(access.settle_reads),
        "SETTLING_RATIO": f"real({RATIO})",
        "ASKS_FOR_NEAREST": int(access.weighting.asks_for_nearest),
        "DROP_LIMIT": drops[0],
        "DROP": drops[1],
    }


def layout_macros(machinery: Machinery, shape: Shape) -> dict[str, Any]:
    """The macros for the GPU's layout of threads and shared memory."""
    access = machinery.access
    full_precision = machinery.kernels is not None and machinery.kernels.full_precision
    return {
        "ROWS": shape.rows,
        "THREADS": shape.threads,
        "BLOCKS": shape.blocks,
        "MEMORY_SHARED": int(shape.memory_shared),
        "VECTOR_STRIDE": shape.vector_stride,
        "READING_STRIDE": shape.reading_stride,
        "QUAD_LANES": 1 << (-(-access.memory_width // 4) - 1).bit_length(),
        "FORWARD_STATE": shape.state_at(backwards=False),
        "BACKWARD_STATE": shape.state_at(backwards=True),
        "FORWARD_NEIGHBOURS": shape.forward_state[0],
        "FORWARD_MEMORY": shape.forward_state[1],
        "BACKWARD_MEMORY": shape.backward_state,
        "EMISSION_TILES": shape.tiles(access.emission_size),
        "BACK_TILES": shape.tiles(shape.joined),
        "FULL_PRECISION": int(full_precision),
        "GATE_WEIGHTS": _held(4, shape.joined, full_precision),
        "EMISSION_WEIGHTS": _shared(shape, False, full_precision),
        "BACK_WEIGHTS": _held(shape.tiles(shape.joined), 4 * shape.cells, full_precision),
        "EMISSION_BACK_WEIGHTS": _shared(shape, True, full_precision),
        "LIMITS_AT": 0,
        "WEIGHTS_AT": _in_fours(shape.rows),
        "BACK_MEMORY_SHARED": int(shape.back_memory_shared),
        "MEMORY_SIZE(slots)": f"(ROWS * (slots) * VECTOR_STRIDE + {_text_in_fours('ROWS * (slots) * KEY')}"
        f" + {_text_in_fours('ROWS * (slots)')})",
    }


def _held(tiles: int, inner: int, full_precision: bool) -> str:
    """Whether threads hold the weights of a product; full precision doubles their number, which is too many."""
    held = not full_precision and 2 * tiles * -(-inner // 8) <= _HELD
    return "IN_REGISTERS" if held else "IN_GLOBAL_MEMORY"


def _shared(shape: Shape, backwards: bool, full_precision: bool) -> str:
    held = not full_precision and shape.emission_weights(backwards)
    return "IN_SHARED_MEMORY" if held else "IN_GLOBAL_MEMORY"


def _text_in_fours(size: str) -> str:
    return f"({size} + 3) / 4 * 4"


def _dispatch(access: Access) -> Iterator[str]:
    """Functions that select a head's numbers from an emission, and scatter their cotangents."""
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

    given = "int head, const real* emission, const real* key, const real* action"
    results = "real* new_key, real* new_action, real* extra"
    body = cases("move_{head}(emitted, key, action, new_key, new_action, extra);")
    yield f"__device__ inline void move_head({given}, {results}) {{\n  switch (head) {{\n{body}\n  }}\n}}"
    results = "real* d_emission, real* d_old_key, real* d_old_action"
    body = cases(
        "pull_move_{head}(emitted, key, action, d_key, d_action, d_extra, d_emitted, d_old_key, d_old_action);",
        "real d_emitted[{size}]; ",
    )
    given += ", const real* d_key, const real* d_action, real d_extra"
    yield f"__device__ inline void pull_head({given}, {results}) {{\n  switch (head) {{\n{body}\n  }}\n}}"


@lru_cache
def program_text(machinery: Machinery, shape: Shape, emulated: str | None = None) -> str:
    """The complete source for a GPU. With `emulated`, the C type of `real`, it is for emulation on a CPU."""
    macros = machine_macros(machinery, shape.cells) | layout_macros(machinery, shape)
    rest = ["recurrence.h", "block.h", "products.h", "forward.cu", "backward.cu"]
    if emulated is None:
        return _text(machinery, macros, "device.h", rest, double=False)
    macros["EMULATED_REAL"] = emulated
    return _text(machinery, macros, "emulation.h", [*rest, "emulated_launch.h"], emulated == "double")


@lru_cache
def cpu_program_text(machinery: Machinery, cells: int, real: str) -> str:
    """The complete source for a CPU; `real` is its C type."""
    macros = machine_macros(machinery, cells) | {"CPU_REAL": real}
    rest = ("recurrence.h", "cpu_products.h", "cpu_forward.h", "cpu_backward.h")
    return _text(machinery, macros, "cpu.h", rest, real == "double")


@lru_cache
def steps_text(real: str) -> str:
    """The source of the CPU programs outside of the recurrence; `real` is its C type."""
    sources = ("cpu.h", "cpu_products.h", "cpu_noise.h", "cpu_surprise.h", "cpu_steps.h")
    return "\n\n".join([f"#define CPU_REAL {real}", *map(_source, sources)])


def _text(machinery: Machinery, macros: dict[str, Any], first: str, rest: Sequence[str], double: bool) -> str:
    """Assembles macros, the prelude `first`, the formulas, and the sources that use them.

    It runs in a separate thread, so that the caller's context, such as a device mesh, does not affect the tracing.
    """

    def text() -> str:
        with jax.enable_x64(double):
            dtype = jnp.float64 if double else jnp.float32
            parts = [*formulas(machinery, dtype), *_dispatch(machinery.access)]
        defined = [f"#define {name} {value}" for name, value in macros.items()]
        return "\n\n".join(["\n".join(defined), _source(first), *parts, *map(_source, rest)])

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(text).result()


def _source(name: str) -> str:
    return (_SOURCES / name).read_text()
