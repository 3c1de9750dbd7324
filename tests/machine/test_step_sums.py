"""Products and sums over the steps that were run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.machine import step_sums
from lantm.machine.kernel import cpu_calls as compiled_calls
from lantm.machine.step_sums import Noise, Rows, linear, look_up, mean_surprise, summed_over_steps

TIME, BATCH = 50, 3  # several chunks, the last of which overlaps the one before it


@pytest.fixture(params=[0, 1, 16, 17, 40, TIME])
def steps(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=["compiled", "loops"], autouse=True)
def compiled(request: pytest.FixtureRequest) -> bool:
    """What does it: compiled code, or loops."""
    if request.param == "compiled":
        request.getfixturevalue("c_compiler")
    return request.param == "compiled"


def rows(key: int, size: int, steps: int, time: int = TIME) -> jax.Array:
    drawn = jax.random.normal(jax.random.key(key), (time, BATCH, size))
    return jnp.where(jnp.arange(time)[:, None, None] < steps, drawn, 0)


def test_sums_are_those_of_all_rows(steps: int) -> None:
    ours, theirs = rows(0, 7, steps, TIME + 1), rows(1, 4, steps)
    product = lambda one, other: jnp.einsum("tbi,tbj->ij", one, other)  # noqa: E731
    parts = (Rows(ours, 1, slice(2, 5)), Rows(theirs))
    found = jax.jit(lambda steps: summed_over_steps(product, parts, TIME, steps))(jnp.asarray(steps))
    np.testing.assert_allclose(found, product(ours[1:, :, 2:5], theirs), rtol=1e-5, atol=1e-5)


def test_rows_of_a_table_and_their_gradient(steps: int) -> None:
    table, pulled = jax.random.normal(jax.random.key(0), (5, 4)), rows(1, 4, steps)
    symbols = jax.random.randint(jax.random.key(2), (TIME, BATCH), 0, 5)
    found, pull = jax.vjp(lambda table: look_up(table, symbols, jnp.asarray(steps)), table)
    expected, plain_pull = jax.vjp(lambda table: table[symbols], table)
    np.testing.assert_array_equal(found[:steps], expected[:steps])
    np.testing.assert_allclose(pull(pulled)[0], plain_pull(pulled)[0], rtol=1e-5, atol=1e-5)


def test_symbols_that_are_none_read_nothing_elsewhere(compiled: bool) -> None:
    """As JAX has it: those below zero count from the end, those that are too large read the last row."""
    table, symbols = jnp.arange(20.0).reshape(5, 4), jnp.array([[0, -1, -5], [5, 10**9, -(10**9)]])
    found, pull = jax.vjp(lambda table: look_up(table, symbols, jnp.asarray(2)), table)
    np.testing.assert_array_equal(found, table[symbols])
    if compiled:  # a row that was read has its gradient
        np.testing.assert_array_equal(pull(jnp.ones((2, 3, 4)))[0][:, 0], [3, 0, 0, 0, 3])


def test_compiled_code_is_given_numbers_of_one_size(compiled: bool) -> None:
    if compiled:
        weight, bias, given = jnp.ones((6, 4)), jnp.ones(4), jnp.ones((TIME, BATCH, 6), jnp.bfloat16)
        with pytest.raises(TypeError, match="a program for bfloat16 was given float32"):
            compiled_calls.multiplied_rows(weight, bias, given, jnp.asarray(TIME))
        halves = [array.astype(jnp.bfloat16) for array in (weight, bias, given)]
        with pytest.raises(TypeError, match="a program for bfloat16 was given bfloat16"):
            compiled_calls.multiplied_rows(*halves, jnp.asarray(TIME))


def test_half_precision_is_left_to_jax() -> None:
    weight, bias, given = (jnp.full(shape, 0.5, jnp.bfloat16) for shape in ((6, 4), (4,), (TIME, BATCH, 6)))
    symbols, mask = jnp.zeros((TIME, BATCH), jnp.int32), jnp.ones((TIME, BATCH), bool)

    def loss(weight: jax.Array, bias: jax.Array) -> jax.Array:
        logits = linear(weight, bias, look_up(given[0], symbols, jnp.asarray(TIME)), jnp.asarray(TIME))
        return mean_surprise(logits, symbols, mask, jnp.asarray(TIME))

    found, gradients = jax.value_and_grad(loss, argnums=(0, 1))(weight, bias)
    assert float(found) == pytest.approx(np.log(4), rel=1e-2), "all logits are equal"
    np.testing.assert_allclose(gradients[1].astype(float), [-0.75, 0.25, 0.25, 0.25], rtol=2e-2)


@pytest.mark.parametrize("mapped", [False, True])
def test_a_linear_layer_and_its_gradients(steps: int, mapped: bool) -> None:
    weights = jax.random.normal(jax.random.key(0), (2, 6, 4)), jax.random.normal(jax.random.key(1), (2, 4))
    given, pulled = rows(2, 6, TIME), rows(3, 4, steps)

    def by_chunks(weight: jax.Array, bias: jax.Array, given: jax.Array) -> jax.Array:
        return linear(weight, bias, given, jnp.asarray(steps))

    def both(weight: jax.Array, bias: jax.Array) -> list[jax.Array]:
        found, pull = jax.vjp(by_chunks, weight, bias, given)
        expected, plain_pull = jax.vjp(lambda weight, bias, given: given @ weight + bias, weight, bias, given)
        before = (jnp.arange(TIME) < steps)[:, None, None]
        differences = [jnp.where(before, found - expected, 0)]
        return differences + [one - other for one, other in zip(pull(pulled), plain_pull(pulled), strict=True)]

    run = jax.vmap(both) if mapped else lambda weight, bias: both(weight[0], bias[0])
    for difference in jax.jit(run)(*weights):
        np.testing.assert_allclose(difference, 0, atol=1e-4)


def test_only_the_steps_that_were_run_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What costs time is not done: of rows that should be zero and are not, nothing is seen."""
    wrong = jnp.ones((TIME, BATCH, 1))
    found = summed_over_steps(lambda one: jnp.sum(one), (Rows(wrong),), TIME, jnp.asarray(5))
    assert found == step_sums._CHUNK * BATCH
    monkeypatch.setattr(step_sums, "on_cpu", lambda: False)
    assert summed_over_steps(lambda one: jnp.sum(one), (Rows(wrong),), TIME, jnp.asarray(5)) == TIME * BATCH


def test_noise_is_normal_and_each_row_has_its_own(steps: int) -> None:
    given = rows(0, 600, TIME)
    noise = Noise(jax.random.key(1), 0.5)
    added = np.asarray(jax.jit(noise.added)(given, jnp.asarray(steps)) - given)[:steps]
    if steps:
        assert abs(added.mean()) < 4 * 0.5 / np.sqrt(added.size)
        assert abs(added.std() / 0.5 - 1) < 4 / np.sqrt(2 * added.size)
        assert np.abs(np.corrcoef(added.reshape(steps * BATCH, -1)) - np.eye(steps * BATCH)).max() < 0.25
    few = np.asarray(noise.added(given[:9], jnp.asarray(9)) - given[:9])
    np.testing.assert_allclose(added[:9], few[:steps], atol=1e-6, err_msg="it depends neither on steps nor on room")


def test_noise_is_what_jax_draws_for_every_step(steps: int) -> None:
    """Whatever computes it, a training has the same noise; also where several are mapped over."""
    keys, given = jax.random.split(jax.random.key(5), 2), rows(0, 600, TIME)

    def plain(key: jax.Array) -> jax.Array:
        return given[:steps] + 0.5 * jnp.stack(
            [jax.random.normal(jax.random.fold_in(key, t), given.shape[1:]) for t in range(steps)]
        )

    found = jax.jit(jax.vmap(lambda key: Noise(key, 0.5).added(given, jnp.asarray(steps))))(keys)
    if steps:
        # Tails are less exact in JAX, where the square of the uniform number is subtracted from 1.
        np.testing.assert_allclose(found[:, :steps], jnp.stack([plain(key) for key in keys]), atol=2e-5)
    other = Noise(jax.random.key(1, impl="rbg"), 0.5)
    expected = other.added(given, jnp.asarray(steps), plain=True)
    np.testing.assert_array_equal(other.added(given, jnp.asarray(steps))[:steps], expected[:steps])


def test_noise_leaves_the_gradient_as_it_is() -> None:
    given, pulled = rows(0, 4, 40), rows(1, 4, 40)
    _, pull = jax.vjp(lambda rows: Noise(jax.random.key(1), 0.5).added(rows, jnp.asarray(40)), given)
    np.testing.assert_array_equal(pull(pulled)[0], pulled)


@pytest.mark.parametrize("several", [1, 2])
def test_mean_surprise_and_its_gradient(steps: int, several: int) -> None:
    """Also of symbols that are none, and of rows that do not count, however large they are."""
    random = np.random.default_rng(0)
    logits = (10 * random.normal(size=(several, TIME, BATCH, 7))).astype(np.float32)
    symbols, mask = random.integers(-1, 8, (TIME, BATCH)), random.random((TIME, BATCH)) < 0.7
    mask[0, 0], mask[max(steps, 1) :] = True, False  # at least one symbol counts
    logits[:, ~mask] = 1e30

    def of_one(logits: jax.Array) -> tuple[jax.Array, jax.Array]:
        found: tuple[jax.Array, jax.Array] = jax.value_and_grad(
            lambda given: 3 * mean_surprise(given, jnp.asarray(symbols), jnp.asarray(mask), jnp.asarray(max(steps, 1)))
        )(logits)
        return found

    losses, gradients = jax.jit(jax.vmap(of_one))(jnp.asarray(logits))
    for one, loss, gradient in zip(logits.astype(np.float64), losses, gradients, strict=True):
        expected, slopes = 0.0, np.zeros_like(one)
        for at in zip(*np.nonzero(mask), strict=True):
            row, symbol = one[at], symbols[at]
            expected += np.log(np.sum(np.exp(row))) - (row[symbol] if 0 <= symbol < 7 else 0)
            slopes[at] = np.exp(row) / np.sum(np.exp(row)) - (np.arange(7) == symbol)
        assert float(loss) == pytest.approx(3 * expected / mask.sum(), rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(gradient[:steps], 3 * slopes[:steps] / mask.sum(), atol=1e-5)


@pytest.mark.parametrize("infinite", [np.inf, -np.inf, np.nan])
def test_the_surprise_of_logits_that_are_not_finite_is_no_number(infinite: float) -> None:
    logits = jnp.zeros((2, 1, 9)).at[1, 0, 8].set(infinite)
    assert jnp.isnan(mean_surprise(logits, jnp.zeros((2, 1), jnp.int32), jnp.ones((2, 1), bool), jnp.asarray(2)))
