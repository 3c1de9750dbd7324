"""Reads through the index: never farther off than they say, close where it matters, and cheap."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import quick
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm.errors import LantmError
from lantm.geometry import EuclideanGeometry, Rotation, ScalingRotation, Translation
from lantm.machine import Index, InvNorm, Memory, SoftMax, Weighting
from lantm.machine.index import Reading, check_geometry, check_weighting, read, read_all, read_blocks
from lantm.machine.index.blocks import Store, close, empty, seal, write
from lantm.machine.index.expansion import Query, look

BATCH, HEADS, WIDTH, SIZE, BLOCKS = 2, 2, 3, 6, 10
SLOTS = SIZE * BLOCKS
WEIGHTINGS = {
    "invnorm": InvNorm(),
    "power 2": InvNorm(power=2.0),
    "power 1/2, soft": InvNorm(power=0.5, epsilon=0.1),
    "invnorm, renormalised": InvNorm(renormalise=True),
    "softmax": SoftMax(),
    "cool softmax, renormalised": SoftMax(temperature=0.1, renormalise=True),
}
# Of the kinds that the others are; three of them are in the tests of a line of memories.
FURTHER = ("invnorm", "power 2", "invnorm, renormalised", "softmax")
every_weighting = pytest.mark.parametrize(
    "weighting",
    [
        pytest.param(weighting, marks=pytest.mark.thorough if name in FURTHER else (), id=name)
        for name, weighting in WEIGHTINGS.items()
    ],
)


@pytest.fixture
def single_precision() -> Iterator[None]:
    """Also where the tests of a module share double precision."""
    with jax.enable_x64(False):
        yield


def stored(memory: Memory, limits: jax.Array, size: int, weighting: Weighting, leave_open: bool = False) -> Store:
    """The memory in blocks; each problem sees its slots below its limit. The last block may be left open."""
    batch, slots, key = memory.addresses.shape

    def add_slot(at: jax.Array, store: Store) -> Store:
        new = Memory(*(jax.lax.dynamic_slice_in_dim(field, at, 1, axis=1) for field in memory))
        return store._replace(open=write(store.open, new, at % size, at < limits, weighting))

    def add_block(block: jax.Array, store: Store) -> Store:
        return close(jax.lax.fori_loop(block * size, (block + 1) * size, add_slot, store), block)

    blocks = slots // size
    store = empty(batch, key, memory.vectors.shape[2], blocks, size)
    if leave_open:
        store = jax.lax.fori_loop(0, blocks - 1, add_block, store)
        return jax.lax.fori_loop((blocks - 1) * size, slots, add_slot, store)
    return seal(jax.lax.fori_loop(0, blocks, add_block, store))


def full(weighting: Weighting, memory: Memory, limits: jax.Array, query: Query) -> jax.Array:
    """The full read as the recurrence does it."""
    distances = Translation(query.keys.shape[-1]).squared_distance(query.keys[:, :, None], memory.addresses[:, None])
    visible = jnp.arange(memory.strengths.shape[1]) < limits[:, None]
    weights = weighting(distances, memory.strengths[:, None], visible[:, None], query.temperatures)
    return weights @ memory.vectors


@functools.cache
def compared(weighting: Weighting, nearest: int, leave_open: bool):  # type: ignore[no-untyped-def]
    """Compiles the read through the index next to the full reads."""

    @quick
    def both(memory: Memory, limits: jax.Array, query: Query) -> tuple[Reading, jax.Array, jax.Array]:
        store = stored(memory, limits, SIZE, weighting, leave_open)
        all_read = read_all(weighting, store, query)
        return read_blocks(weighting, store, query, nearest), all_read.vectors, full(weighting, memory, limits, query)

    return both


# Scenes: where memories are.


def line(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """What heads write: one step after the other, almost straight on."""
    steps = random.normal(size=(1, 1, 2)) + 0.05 * random.normal(size=(*shape, 2))
    return steps.cumsum(axis=1)


def scattered(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return random.normal(size=(*shape, 2)) * 10 ** random.uniform(-3, 3)


def clustered(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    centres = 10 * random.normal(size=(4, 2))
    return centres[random.integers(4, size=shape)] + 1e-3 * random.normal(size=(*shape, 2))


def coincident(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Whole blocks in one place."""
    places = 5 * random.normal(size=(shape[0], BLOCKS, 2))
    return places.repeat(SIZE, axis=1)


def hollow(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Blocks around their middle, with nothing else there: no block is what it looks like."""
    around = random.normal(size=(*shape, 2))
    around *= 10 ** random.uniform(-1, 2) / np.linalg.norm(around, axis=-1, keepdims=True)
    around[:, SIZE // 2 :: SIZE] = 0
    return coincident(random, shape) * random.choice([0, 1]) + around


def jumping(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """A line that is broken off in the middle of blocks."""
    jumps = (random.uniform(size=(*shape, 1)) < 0.1) * random.normal(size=(*shape, 2)) * 100
    return line(random, shape) + jumps.cumsum(axis=1)


def of_all_sizes(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """From indistinguishable to beyond what can be squared in single precision."""
    return random.normal(size=(*shape, 2)) * 10 ** random.uniform(-12, 25, size=(*shape, 1))


SCENES = [line, scattered, clustered, coincident, hollow, jumping, of_all_sizes]
VECTORS = {
    "any": lambda random, shape: random.uniform(-1, 1, shape),
    "extreme": lambda random, shape: np.sign(random.normal(size=shape)),
    "one sided": lambda random, shape: np.ones(shape),
    "by block": lambda random, shape: np.sign(random.normal(size=(shape[0], BLOCKS, shape[2]))).repeat(SIZE, axis=1),
}


class Read(NamedTuple):
    """One read, to be drawn: what the memory looks like and where the read keys are."""

    seed: int
    scene: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
    vectors: str
    faintest: float  # the strengths go down to ten to the minus this
    away: float  # how far keys are from some memory; from far away all memories look alike
    limits: tuple[int, int]

    def make(self) -> tuple[Memory, jax.Array, Query]:
        random = np.random.default_rng(self.seed)
        shape = (BATCH, SLOTS)
        addresses = self.scene(random, shape)
        vectors = VECTORS[self.vectors](random, (*shape, WIDTH))
        strengths = 10 ** -random.uniform(0, self.faintest, shape)
        keys = addresses[:, random.integers(SLOTS, size=HEADS)]
        keys += self.away * random.normal(size=keys.shape)
        temperatures = 10 ** random.uniform(-3, 3, (BATCH, HEADS))
        precision = jnp.zeros(()).dtype
        fields = [jnp.asarray(field.astype(precision)) for field in (addresses, vectors, strengths, keys, temperatures)]
        return Memory(*fields[:3]), jnp.asarray(self.limits), Query(*fields[3:])


reads = st.builds(
    Read,
    st.integers(0, 2**32 - 1),
    st.sampled_from(SCENES),
    st.sampled_from(sorted(VECTORS)),
    st.sampled_from([0.5, 8.0]),
    st.sampled_from([0.0, 1e-6, 0.3, 30.0, 3e4]),
    st.tuples(st.just(SLOTS) | st.integers(0, SLOTS), st.integers(0, SLOTS)),
)


# The bound.


@every_weighting
@pytest.mark.parametrize(("nearest", "leave_open"), [(1, False), (3, True)], ids=["closed", "open"])
@pytest.mark.usefixtures("double_precision")
def test_no_read_is_farther_off_than_its_bound(weighting: Weighting, nearest: int, leave_open: bool) -> None:
    @settings(max_examples=60, deadline=None)
    @given(reads)
    def holds(case: Read) -> None:
        found, by_blocks, by_slots = jax.device_get(compared(weighting, nearest, leave_open)(*case.make()))
        np.testing.assert_allclose(by_blocks, by_slots, rtol=1e-9, atol=1e-9)
        error = np.abs(found.vectors - by_slots).max(axis=-1)
        assert np.all(error <= found.bounds * (1 + 1e-9) + 1e-9), (error, found.bounds)
        assert np.all(np.abs(found.vectors) <= 1 + 1e-9)

    holds()


@every_weighting
@pytest.mark.usefixtures("double_precision")
def test_nothing_is_left_out_when_all_blocks_are_read(weighting: Weighting) -> None:
    @settings(max_examples=20, deadline=None)
    @given(reads)
    def holds(case: Read) -> None:
        found, _, by_slots = compared(weighting, BLOCKS, False)(*case.make())
        np.testing.assert_allclose(found.vectors, by_slots, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found.bounds, 0)

    holds()


@every_weighting
@pytest.mark.usefixtures("single_precision")
def test_huge_distances_in_single_precision(weighting: Weighting) -> None:
    """Some cannot be squared."""

    @settings(max_examples=30, deadline=None)
    @given(reads.map(lambda case: case._replace(scene=of_all_sizes)))
    def holds(case: Read) -> None:
        found, _, by_slots = jax.device_get(compared(weighting, 1, False)(*case.make()))
        assert np.all(np.isfinite(found.vectors))
        error = np.abs(found.vectors - by_slots).max(axis=-1)
        assert np.all(error <= found.bounds + 1e-4), (error, found.bounds)

    holds()


def read_by_hand(places: list[list[float]], contents: list[list[float]], opened: bool) -> tuple[Reading, float]:
    """One block is read exactly, and one number from the key at 0; strengths are 1."""
    memory = Memory(
        jnp.array(places).reshape(1, -1, 1), jnp.array(contents).reshape(1, -1, 1), jnp.ones((1, np.size(places)))
    )
    weighting, limits = SoftMax(temperature=1.0), jnp.array([np.size(places)])
    query = Query(jnp.zeros((1, 1, 1)), None)

    @quick
    def both(memory: Memory) -> tuple[Reading, jax.Array]:
        store = stored(memory, limits, len(places[0]), weighting, leave_open=opened)
        return read_blocks(weighting, store, query, 1), full(weighting, memory, limits, query)

    found, expected = both(memory)
    return found, float(expected[0, 0, 0])


def test_a_block_that_looks_nearer_than_it_is() -> None:
    """Two blocks of six seem to be at the key, and but one memory of each is: the denominator is much too large."""
    misleading = [4.0, 4.0, 4.0, 0.0, 4.0, 4.0]
    found, expected = read_by_hand(
        [misleading, misleading, [0.0] * 6], [[-1.0] * 6, [-1.0] * 6, [1.0] * 6], opened=True
    )
    assert abs(expected - 0.5) < 1e-5
    assert 0.5 < expected - float(found.vectors[0, 0, 0]) <= float(found.bounds[0, 0]) < 1


def test_affinities_are_never_taken_to_be_negative() -> None:
    """A tangent goes below zero: here at 1.6, if it is one of e^-q at 1."""
    far, block = [9.0] * 6, [1.0, 1.0, 1.0, 1.0, 1.0, 1.6]
    found, expected = read_by_hand(
        [far, block, block], [[0.0] * 6, [1.0] * 5 + [-1.0], [1.0] * 5 + [-1.0]], opened=False
    )
    assert abs(float(found.vectors[0, 0, 0])) <= 1
    assert abs(expected - float(found.vectors[0, 0, 0])) <= float(found.bounds[0, 0])


@pytest.mark.usefixtures("double_precision")
def test_the_first_order_is_what_keeps_the_bound_small() -> None:
    """Twice as far away, the error is a quarter, relative to what is read: the second order is the first left out."""
    memory, limits = long_line(SLOTS)
    store = quick(functools.partial(stored, size=SIZE, weighting=InvNorm()))(memory, limits)
    query = Query(jnp.array([[[-1000.0, 0.0], [-2000.0, 0.0]]]), None)
    near, far = quick(functools.partial(read_blocks, InvNorm(), nearest=1))(store, query).bounds[0]
    assert 3.5 < near / far < 4.5


def long_line(slots: int) -> tuple[Memory, jax.Array]:
    """Memories one step apart along the first axis, in the precision at hand."""
    random = np.random.default_rng(0)
    addresses = np.stack([np.arange(slots), np.zeros(slots)], axis=-1)[None]
    memory = Memory(
        jnp.asarray(addresses, float),
        jnp.asarray(random.uniform(-1, 1, (1, slots, WIDTH)), float),
        jnp.asarray(random.uniform(0.5, 1, (1, slots)), float),
    )
    return memory, jnp.array([slots])


@pytest.mark.usefixtures("single_precision")
@pytest.mark.parametrize(
    ("weighting", "temperature"), [(InvNorm(), None), (InvNorm(power=2.0), None), (SoftMax(), 9.0)]
)
def test_readings_from_a_line_of_memories_are_known_to_a_thousandth(
    weighting: Weighting, temperature: float | None
) -> None:
    """In single precision, anywhere along the line and beside it, with a few hundred of 4,096 memories read."""
    memory, limits = long_line(4096)
    store = quick(functools.partial(stored, size=64, weighting=weighting))(memory, limits)
    random = np.random.default_rng(1)
    beside = random.choice([0, 0.1, 0.5, 3], 200)
    keys = jnp.asarray(np.stack([random.uniform(0, 4096, 200), beside], axis=-1)[None], jnp.float32)
    query = Query(keys, None if temperature is None else jnp.full((1, 200), temperature))
    found = jax.jit(lambda: read_blocks(weighting, store, query, 8))()
    error = jnp.abs(found.vectors - full(weighting, memory, limits, query)).max(axis=-1)
    assert np.all(found.bounds < 1e-3)
    assert np.all(error <= found.bounds + 1e-6)
    if isinstance(weighting, InvNorm):
        assert np.all(found.bounds > 0)  # some were left out


# The full read where the index is too rough.


@pytest.mark.parametrize("outcome", ["few", "more", "all"])
def test_more_is_read_where_bounds_are_beyond_the_tolerance(outcome: str) -> None:
    memory, limits = long_line(SLOTS)
    query = Query(jnp.array([[[7.3, 0.2]]]), None)
    store = quick(functools.partial(stored, size=SIZE, weighting=InvNorm()))(memory, limits)
    few, more = (quick(functools.partial(read_blocks, InvNorm(), nearest=nearest))(store, query) for nearest in (1, 4))
    assert 0 < more.bounds[0, 0] < few.bounds[0, 0] < 1
    tolerance = {"few": math.inf, "more": float(more.bounds[0, 0]), "all": 0.0}[outcome]
    found = quick(functools.partial(read, InvNorm(), index=Index(nearest=4, tolerance=tolerance)))(store, query)
    assert found.full == (outcome == "all")
    if outcome == "all":
        np.testing.assert_allclose(found.vectors, full(InvNorm(), memory, limits, query), rtol=1e-6)
        np.testing.assert_array_equal(found.bounds, 0)
    else:
        expected = few if outcome == "few" else more
        np.testing.assert_allclose(found.vectors, expected.vectors, rtol=1e-6)
        np.testing.assert_allclose(found.bounds, expected.bounds, rtol=1e-5)


# Cost.


def numbers_made(jaxpr: jax.extend.core.Jaxpr, turns: int) -> int:
    """How many numbers a program computes, the turns of its loops counted."""
    total = 0
    for equation in jaxpr.eqns:
        inner = [value for value in equation.params.values() if hasattr(value, "jaxpr")]
        if inner:
            repeated = turns if equation.primitive.name in ("scan", "while") else 1
            total += sum(repeated * numbers_made(value.jaxpr, turns) for value in inner)
        else:
            total += sum(math.prod(out.aval.shape) for out in equation.outvars)
    return total


def cost(slots: int, through_index: bool) -> int:
    """Numbers computed by one read from a memory of so many slots."""
    index = Index()
    size = index.block_size(slots, 1)
    store = jax.eval_shape(lambda: seal(empty(1, 2, 20, -(-slots // size), size)))
    query = Query(jax.ShapeDtypeStruct((1, 1, 2), jnp.float32), None)

    def one_read(store: Store, query: Query) -> Reading:
        if through_index:
            return read_blocks(InvNorm(), store, query, index.nearest)
        return read_all(InvNorm(), store, query)

    return numbers_made(jax.make_jaxpr(one_read)(store, query).jaxpr, turns=index.nearest)


def test_cost_grows_with_the_square_root_of_the_memory() -> None:
    """Four times the memory costs twice as much, where a full read costs four times as much."""
    for through_index, growth in ((True, 2), (False, 4)):
        costs = [cost(slots, through_index) for slots in (10_000, 40_000, 160_000, 640_000)]
        for smaller, larger in itertools.pairwise(costs):
            assert 0.9 * growth < larger / smaller < 1.1 * growth


def test_block_sizes() -> None:
    # One block, of 20, is tried first: it costs as much as five summaries, each of which costs as much as four slots.
    assert Index(nearest=4).block_size(100, write_heads=1) == 20
    assert Index(nearest=4).block_size(100, write_heads=3) == 21
    assert Index(nearest=8).block_size(200, write_heads=1) == 20
    assert Index(block=5).block_size(100, write_heads=1) == 5


# What the summaries rest on.


@pytest.mark.usefixtures("double_precision")
def test_no_memory_is_nearer_or_farther_than_its_block_can_be() -> None:
    store_all = quick(functools.partial(stored, size=SIZE, weighting=InvNorm()))

    @settings(max_examples=50, deadline=None)
    @given(reads)
    def holds(case: Read) -> None:
        memory, limits, query = case.make()
        store = store_all(memory, limits)
        squares = look(store.summaries, query).squares
        distances = Translation(2).squared_distance(query.keys[:, :, None], memory.addresses[:, None])
        distances = distances.reshape(BATCH, HEADS, BLOCKS, SIZE)
        visible = (jnp.arange(SLOTS) < limits[:, None]).reshape(BATCH, 1, BLOCKS, SIZE)
        assert np.all((distances >= squares.nearest[..., None]) | ~visible)
        assert np.all((distances <= squares.farthest[..., None]) | ~visible)

    holds()


class Taxicab(Translation):
    """Distances that are not those of R^n."""

    def squared_distance(self, key, address):  # type: ignore[no-untyped-def]
        return jnp.sum(jnp.abs(key - address), axis=-1) ** 2


def test_other_distances_are_refused() -> None:
    for geometry in (Translation(), Translation(3), Rotation(), ScalingRotation()):
        check_geometry(geometry)
        assert isinstance(geometry, EuclideanGeometry)
    with pytest.raises(LantmError, match="Taxicab"):
        check_geometry(Taxicab())


@pytest.mark.parametrize("changes", [{"nearest": 0}, {"block": 0}, {"tolerance": -1.0}, {"tolerance": math.nan}])
def test_indices_that_make_no_sense_are_refused(changes: dict) -> None:
    with pytest.raises(LantmError, match="index"):
        Index(**changes)


class Bump(Weighting):
    """A law that is nowhere said to be convex."""

    def affinities(self, squared_distances: jax.Array, temperature: jax.Array | None, nearest: jax.Array) -> jax.Array:
        return jnp.exp(-(squared_distances**2))


def test_weightings_that_are_not_convex_are_refused() -> None:
    for weighting in (InvNorm(), SoftMax()):
        check_weighting(weighting)
    with pytest.raises(LantmError, match="no index for Bump"):
        check_weighting(Bump())
