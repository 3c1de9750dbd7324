"""Compiler options for programs that run only once: short compilation matters more than fast execution."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax

from lantm.devices import on_cpu

# CPU options: fewer compiler stages, and one module instead of one for every few operations.
_ON_CPU = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}


def compiled_quickly(function: Callable[..., Any], **jit_options: Any) -> Callable[..., Any]:
    """`jax.jit` for a function that is run once: on a CPU it compiles in a quarter of the time, and runs more slowly.

    It cannot be called within another compiled function, and its rounding differs from `jax.jit`.
    """

    def run(*arguments: Any) -> Any:
        return jax.jit(function, compiler_options=_options(0, on_cpu()), **jit_options)(*arguments)

    return run


def quick_and_exact() -> dict[str, Any]:
    """Compiler options for a program that runs once and whose results must be reproducible to the last bit.

    They apply to a CPU only; elsewhere the options are empty.
    """
    return _options(1, True) if on_cpu() else {}  # at level 0 there are no fused multiply-adds


@lru_cache
def _options(level: int, of_cpu: bool) -> dict[str, Any]:
    """The options that this version of XLA supports."""
    anywhere = {"xla_backend_optimization_level": level}
    if not of_cpu:
        return anywhere
    try:
        jax.jit(lambda: 0, compiler_options=anywhere | _ON_CPU).lower().compile()
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" not in str(error):
            raise
        return anywhere
    return anywhere | _ON_CPU
