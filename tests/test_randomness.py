"""Random keys: another one for every seed, purpose and counter."""

import itertools

import jax

from lantm.randomness import EVALUATE, INITIALISE, RECORD, SEEDS, TEST, TRAIN, VERIFY, seed_key, shared_key


def test_keys_differ_by_seed_purpose_and_counters() -> None:
    counters = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (2, 1), (1, 2)]
    purposes = [INITIALISE, TRAIN, TEST, EVALUATE, RECORD, VERIFY]
    asked = list(itertools.product([0, 1, 2, SEEDS - 1], purposes, counters))
    keys = [seed_key(seed, purpose, *at) for seed, purpose, at in asked]
    keys += [shared_key(purpose, *at) for purpose in (TRAIN, TEST, EVALUATE) for at in counters]
    assert len({tuple(jax.random.key_data(key).tolist()) for key in keys}) == len(keys)
