"""Tests a weighting against the contract `lantm.machine.Weighting`."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from lantm.checking.finding import Finding, finite, shown
from lantm.machine import Weighting

_CASES, _SLOTS = 64, 16
_LARGEST = 1e30


def check_weighting(weighting: Weighting) -> list[Finding]:
    """Tests that affinities decrease with the distance, weights sum to at most 1, and gradients are finite."""
    try:
        hash(weighting)
    except TypeError as error:
        return [Finding("it can be a static argument of a compiled function", 1, str(error))]
    random = np.random.default_rng(0)
    distances = np.sort(random.exponential(size=(_CASES, _SLOTS)) * 10.0 ** random.uniform(-6, 6, (_CASES, 1)), axis=1)
    distances[0], distances[1, 0], distances[2, -1] = 1, 0, _LARGEST  # all equal; one zero; one very large
    strengths = random.uniform(size=(_CASES, _SLOTS))
    temperatures = jnp.ones(_CASES) if weighting.emits_temperature else None
    given = {"squared distances": distances}
    visible = jnp.ones((_CASES, _SLOTS), bool)
    try:
        affinities = weighting.affinities(jnp.asarray(distances), temperatures, jnp.asarray(distances[:, :1]))
        assert affinities.shape == distances.shape, f"affinities have the shape {affinities.shape}"
    except (AssertionError, TypeError, ValueError) as error:
        return [Finding("shapes", 1, f"{' '.join(str(error).split())} for distances of the shape {distances.shape}")]

    def read(distances: Array, strengths: Array) -> Array:
        return weighting(distances, strengths, visible, temperatures)

    weights = read(jnp.asarray(distances), jnp.asarray(strengths))
    slopes = jax.grad(lambda *of: jnp.sum(jnp.sin(jnp.arange(_SLOTS)) * read(*of)), argnums=(0, 1))(
        jnp.asarray(distances), jnp.asarray(strengths)
    )
    values = np.asarray(affinities)
    rising = np.asarray(np.diff(values, axis=1).max(axis=1) > 1e-6 * values.max(axis=1))
    negative = np.asarray(values.min(axis=1) < 0)
    too_much = np.asarray(np.asarray(weights).sum(axis=1) > 1 + 1e-4)
    return [
        Finding("shapes", _CASES),
        finite("affinities are finite", affinities, given),
        _none("affinities are not below 0", negative, affinities, distances),
        _none("affinities fall with the distance", rising, affinities, distances),
        finite("weights are finite", weights, given),
        _none("weights add up to at most 1", too_much, weights, distances),
        finite("gradients by distances are finite", slopes[0], given),
        finite("gradients by strengths are finite", slopes[1], given),
    ]


def _none(law: str, wrong: np.ndarray, values: Array, distances: np.ndarray) -> Finding:
    if not wrong.any():
        return Finding(law, _CASES)
    at = int(np.argmax(wrong))
    return Finding(law, _CASES, f"{shown(values[at])} for squared distances {shown(distances[at])}")
