"""A sweep that is done in a moment, as its file has it: two rates, two seeds, one group of four machines."""

from typing import Any

TINY: dict[str, Any] = {
    "seeds": 2,
    "scales": [1],
    "problems": 32,
    "experiment": {
        "lengths": [2, 4],
        "epochs": 6,
        "batches": 2,
        "batch_size": 4,
        "test_every": 2,
        "test_batches": 2,
        "test_scales": [1, 2],
        "cells": 6,
        "embedding": 3,
        "memory_width": 3,
        "learning_rate": 0.01,
    },
    "grid": {"task": ["copy"], "learning_rate": [0.01, 0.03]},
}
