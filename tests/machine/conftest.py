"""The precision that machines are compared in."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(scope="module")
def double_precision() -> Iterator[None]:
    """Two ways to compute the same differ by rounding only, so a small tolerance tells right from wrong."""
    with jax.enable_x64(True):
        yield
