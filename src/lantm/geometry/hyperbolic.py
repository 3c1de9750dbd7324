"""Hyperbolic space of any dimension; the group scales and translates the upper half-space."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.errors import LantmError
from lantm.geometry.base import Action, Gate, Key, RawAction
from lantm.geometry.euclidean import interpolate
from lantm.geometry.half_space import HalfSpaceGeometry
from lantm.geometry.surface import check_radius

# Logarithms of scales, and shifts, are clipped to these: beyond them float32 cannot distinguish keys.
_STRONGEST = 32.0
_FARTHEST = 1e12


class Hyperbolic(HalfSpaceGeometry):
    """Hyperbolic space: an action maps (x, y) to (s x + v, s y). Exactly one action maps a given key to another given
    key.

    All actions are isometries, and only the identity has fixed points. An action is stored as (v, log s). Actions do
    not commute in general. A repeated action moves a key along a geodesic if v is 0, along a horocycle if s is 1, and
    otherwise at a constant distance from a geodesic.

    >>> space = Hyperbolic(dimension=3, radius=1.0)
    >>> print(space.act(jnp.array([1.0, 2.0, 0.0]), jnp.array([0.5, 0.5, 4.0])))
    [1.5 2.5 4. ]
    """

    dimension: int = eqx.field(static=True, default=3)
    radius: float = eqx.field(static=True, default=64.0)

    isometric = True

    def __check_init__(self) -> None:
        if self.dimension < 2:
            raise LantmError(f"hyperbolic space needs dimension 2 or more, not {self.dimension}")
        check_radius("hyperbolic", self.radius)

    @property
    def key_size(self) -> int:
        """The dimension."""
        return self.dimension

    @property
    def action_size(self) -> int:
        """The dimension."""
        return self.dimension

    @property
    def raw_action_size(self) -> int:
        """The dimension."""
        return self.dimension

    def action(self, raw: RawAction) -> Action:
        """The first raw output scales, which moves keys upwards; the others shift them sideways. The unit is a step."""
        steps = raw / self.radius
        climb = jnp.clip(steps[..., :1], -_STRONGEST, _STRONGEST)
        return jnp.concatenate([jnp.clip(-steps[..., 1:], -_FARTHEST, _FARTHEST), climb], axis=-1)

    def identity(self) -> Float[Array, "action"]:
        """No shift, and scaling by 1."""
        return jnp.zeros(self.dimension)

    def act(self, action: Action, key: Key) -> Key:
        """Scales the key and shifts it horizontally."""
        shift, climb = action[..., :-1], action[..., -1:]
        moved = jnp.exp(climb) * key
        return self.within_reach(jnp.concatenate([moved[..., :-1] + shift, moved[..., -1:]], axis=-1))

    def compose(self, second: Action, first: Action) -> Action:
        """The product in the group; `second` also scales the shift of `first`."""
        shift = second[..., :-1] + jnp.exp(second[..., -1:]) * first[..., :-1]
        return jnp.concatenate([shift, second[..., -1:] + first[..., -1:]], axis=-1)

    def inverse(self, action: Action) -> Action:
        """The inverse scale, and the opposite shift, scaled by it."""
        shift, climb = action[..., :-1], action[..., -1:]
        return jnp.concatenate([-jnp.exp(-climb) * shift, -climb], axis=-1)

    def mix_actions(self, gate: Gate, candidate: Action, previous: Action) -> Action:
        """Linear interpolation of the shifts and of the logarithms of the scales."""
        return interpolate(gate, candidate, previous)
