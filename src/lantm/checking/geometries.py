"""Tests the laws of a geometry (`lantm.geometry.Geometry`) in float64, on random and on singular keys and actions.

Actions are compared by how they move keys, since in some groups different numbers represent the same action.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lantm.checking.finding import Finding, finite, shown
from lantm.geometry import Geometry

_CASES = 256
_TOLERANCE = 1e-6  # relative to the largest number of a result: the rounding error of double precision in the disk
_SCALES = (1e-3, 0.5, 2.0)  # of the controller's outputs


def check_geometry(geometry: Geometry, thorough: bool = True) -> list[Finding]:
    """Tests every law; without `thorough`, no gradients."""
    with jax.enable_x64(True):
        raw_keys, raw_actions = _raw(geometry.raw_key_size, 3, 0), _raw(geometry.raw_action_size, 3, 1)
        rows = {"raw keys of k, l, m": raw_keys, "raw actions of a, b, c": raw_actions}
        given = {name: np.moveaxis(raw, 0, 1) for name, raw in rows.items()}
        findings = _shapes(geometry, raw_keys, raw_actions)
        if any(finding.broken for finding in findings):
            return findings
        pairs = jax.device_get(jax.jit(partial(_laws, geometry))(raw_keys, raw_actions))
        for law, (found, expected) in pairs.items():
            findings.append(_equal(law, found, expected, given))
        if thorough:
            findings += _gradients(geometry, raw_keys, raw_actions, given)
    return findings


def _raw(size: int, rows: int, seed: int) -> Float[np.ndarray, "rows cases size"]:
    """Controller outputs: small, ordinary and large ones, and zeros."""
    random = np.random.default_rng(seed)
    raw = np.asarray(random.normal(size=(rows, _CASES, size)) * random.choice(_SCALES, (rows, _CASES, 1)))
    raw[:, 0] = 0
    raw[1, 1] = raw[0, 1]  # two equal keys, or actions
    raw[1, 2] = -raw[0, 2]  # opposite ones
    return raw


def _shapes(geometry: Geometry, raw_keys: Any, raw_actions: Any) -> list[Finding]:
    """Tests the shapes of results for a batch, and use as a static argument of a compiled function."""

    def results(raw_keys: Array, raw_actions: Array) -> dict[str, Array]:
        k, a, gate = geometry.key(raw_keys), geometry.action(raw_actions), jnp.ones((_CASES, 1))
        return {
            "key": k,
            "action": a,
            "act": geometry.act(a, k),
            "compose": geometry.compose(a, a),
            "inverse": geometry.inverse(a),
            "mix_keys": geometry.mix_keys(gate, k, k),
            "mix_actions": geometry.mix_actions(gate, a, a),
            "squared_distance": geometry.squared_distance(k, k),
            "squared_distance to many": geometry.squared_distance(k[:, None], k[None, :]),
            "plane_coordinates": geometry.plane_coordinates(k),
            "identity": geometry.identity(),
        }

    try:
        found = jax.eval_shape(results, raw_keys[0], raw_actions[0])
        hash(geometry)
    except (TypeError, ValueError, AttributeError, IndexError, NotImplementedError) as error:
        return [Finding("shapes", 1, f"{type(error).__name__}: {' '.join(str(error).split())}")]
    key, action = (_CASES, geometry.key_size), (_CASES, geometry.action_size)
    expected = {
        **dict.fromkeys(("key", "act", "mix_keys"), key),
        **dict.fromkeys(("action", "compose", "inverse", "mix_actions"), action),
        "squared_distance": (_CASES,),
        "squared_distance to many": (_CASES, _CASES),
        "plane_coordinates": (_CASES, 2),
        "identity": (geometry.action_size,),
    }
    wrong = [
        f"{name} has the shape {found[name].shape}, not {shape}"
        for name, shape in expected.items()
        if found[name].shape != shape
    ]
    return [Finding("shapes", len(expected), wrong[0] if wrong else None)]


def _laws(geometry: Geometry, raw_keys: Array, raw_actions: Array) -> dict[str, tuple[Array, Array]]:
    """Pairs of values that should be equal, by law."""
    k, other, third = geometry.key(raw_keys)  # k, l and m in the names
    a, b, c = geometry.action(raw_actions)
    act, compose, distance = geometry.act, geometry.compose, geometry.squared_distance
    identity = jnp.broadcast_to(geometry.identity(), a.shape)
    one, zero = jnp.ones((len(k), 1)), jnp.zeros((len(k), 1))
    laws = {
        "identity: act(e, k) = k": (act(identity, k), k),
        "identity: a e = a": (act(compose(a, identity), k), act(a, k)),
        "identity: e a = a": (act(compose(identity, a), k), act(a, k)),
        "associativity: (a b) c = a (b c)": (act(compose(compose(a, b), c), k), act(compose(a, compose(b, c)), k)),
        "inverse: act(inverse(a), act(a, k)) = k": (act(geometry.inverse(a), act(a, k)), k),
        "inverse: a inverse(a) = e": (act(compose(a, geometry.inverse(a)), other), other),
        "action: act(a b, k) = act(a, act(b, k))": (act(compose(a, b), k), act(a, act(b, k))),
        "mixing keys: gate 1 gives the candidate": (geometry.mix_keys(one, k, other), k),
        "mixing keys: gate 0 gives the previous": (geometry.mix_keys(zero, k, other), other),
        "mixing actions: gate 1 gives the candidate": (act(geometry.mix_actions(one, a, b), third), act(a, third)),
        "mixing actions: gate 0 gives the previous": (act(geometry.mix_actions(zero, a, b), third), act(b, third)),
        "distance: of a key to itself 0": (distance(k, k)[:, None], zero),
        "distance: the same both ways": (distance(k, other)[:, None], distance(other, k)[:, None]),
        "distance: not below 0": (jnp.minimum(distance(k, other), 0)[:, None], zero),
        "distance: finite to an address of zeros": (0 * distance(k, jnp.zeros_like(k))[:, None], zero),
    }
    if geometry.isometric:
        moved = distance(act(a, k), act(a, other))[:, None]
        laws["isometry: act(a, k) is as far from act(a, l) as k from l"] = (moved, distance(k, other)[:, None])
    return laws


def _equal(law: str, found: np.ndarray, expected: np.ndarray, given: dict[str, Any]) -> Finding:
    scale = 1 + np.abs(expected).max(axis=-1)
    wrong = ~(np.abs(found - expected).max(axis=-1) <= _TOLERANCE * scale)  # true for nan as well
    if not wrong.any():
        return Finding(law, len(found))
    at = int(np.argmax(wrong))
    case = ", ".join(f"{name} {shown(value[at])}" for name, value in given.items())
    return Finding(law, len(found), f"{shown(found[at])} instead of {shown(expected[at])} for {case}")


def _gradients(geometry: Geometry, raw_keys: Any, raw_actions: Any, given: dict[str, Any]) -> list[Finding]:
    """Tests that gradients are finite everywhere, also for equal keys and zero outputs."""

    def loss(raw_keys: Array, raw_actions: Array) -> Array:
        k, other, third = geometry.key(raw_keys)
        a, b, _ = geometry.action(raw_actions)
        gate = jnp.full((1,), 0.3)
        moved = geometry.act(geometry.mix_actions(gate, a, b), geometry.mix_keys(gate, k, third))
        back = geometry.act(geometry.inverse(a), geometry.act(geometry.compose(b, a), k))
        return jnp.sum(geometry.squared_distance(jnp.stack([moved, back, k]), other))

    slopes = jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1)), in_axes=1))(raw_keys, raw_actions)
    return [
        finite(f"gradients by {name} are finite", slope, given)
        for name, slope in zip(("keys", "actions"), jax.device_get(slopes), strict=True)
    ]
