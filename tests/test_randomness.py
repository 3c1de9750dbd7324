"""Random keys: another one for every seed, purpose and counter."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from lantm.randomness import EVALUATE, INITIALISE, RECORD, SEEDS, TEST, TRAIN, VERIFY, seed_key, shared_key


def test_keys_differ_by_seed_purpose_and_counters() -> None:
    counters = [[()], [(0,), (1,)], [(0, 0), (0, 1), (1, 0), (2, 1), (1, 2)]]
    purposes = [INITIALISE, TRAIN, TEST, EVALUATE, RECORD, VERIFY]
    keys = []
    for of_one_size in counters:
        asked = itertools.product([0, 1, 2, SEEDS - 1], purposes, of_one_size)
        numbers = np.array([(seed, purpose, *at) for seed, purpose, at in asked], np.int32)
        keys += jax.random.key_data(jax.vmap(seed_key)(*jnp.asarray(numbers.T))).tolist()
    shared = [shared_key(purpose, *at) for purpose in (TRAIN, TEST) for at in ((), (1,), (1, 0))]
    keys += [jax.random.key_data(key).tolist() for key in shared]
    assert len(keys) == 4 * 6 * 8 + 6
    assert len(set(map(tuple, keys))) == len(keys)
