"""Many seeds as one program: a leading axis that is mapped over, and shared out over all local devices.

A seed's numbers depend on that seed alone, not on which seeds it was trained beside. Lengths are the one
thing all seeds share: one program runs them in step.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec
from jaxtyping import Array, Int, PRNGKeyArray

# What random numbers are for: the same seed draws different ones for each purpose.
INITIALISE, TRAIN, TEST, EVALUATE, RECORD = range(5)

_SEEDS = "seeds"


def seed_key(
    seed: int | Int[Array, ""], purpose: int | Int[Array, ""], *counters: int | Int[Array, ""]
) -> PRNGKeyArray:
    """The random key of a seed for a purpose, at given counters (epoch, batch)."""
    key = jax.random.fold_in(jax.random.key(seed), purpose)
    for counter in counters:
        key = jax.random.fold_in(key, counter)
    return key


def shared_key(purpose: int, *counters: int | Int[Array, ""]) -> PRNGKeyArray:
    """The random key of what all seeds share: the lengths."""
    return seed_key(2**31 - 1, purpose, *counters)


def device_mesh(seeds: int) -> Mesh:
    """As many local devices as share the seeds out evenly."""
    devices = jax.local_devices()
    count = max(n for n in range(1, len(devices) + 1) if seeds % n == 0)
    return Mesh(devices[:count], (_SEEDS,))


def place(tree: Any, mesh: Mesh) -> Any:
    """Puts arrays with a leading axis of seeds onto the devices."""
    return jax.device_put(tree, NamedSharding(mesh, Spec(_SEEDS)))


def over_seeds(function: Callable[..., Any], mesh: Mesh, **jit_options: Any) -> Callable[..., Any]:
    """Compiles a function whose first argument has a leading axis of seeds, and whose results have one.

    Further arguments are shared by all seeds. Every device runs the function on its own seeds; there is
    no traffic between them.
    """

    @partial(jax.jit, out_shardings=NamedSharding(mesh, Spec(_SEEDS)), **jit_options)
    def compiled(tree: Any, *shared: Any) -> Any:
        specs = (Spec(_SEEDS), *[Spec()] * len(shared))
        # check_vma: the loops inside mix what differs between devices with what does not.
        return jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=Spec(_SEEDS), check_vma=False)(
            tree, *shared
        )

    return compiled
