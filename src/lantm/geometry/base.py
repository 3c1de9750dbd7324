"""The contract of a geometry: where keys live, and how the heads of the machine move there."""

import abc
from typing import TypeAlias

import equinox as eqx
from jaxtyping import Array, Float

# The arrays of every geometry, named once. Components lie on the last axis, and the axes before it
# broadcast, so that one read key meets all addresses of the memory in one call.
RawKey: TypeAlias = Float[Array, "*#batch raw_key"]
RawAction: TypeAlias = Float[Array, "*#batch raw_action"]
Key: TypeAlias = Float[Array, "*#batch key"]
Action: TypeAlias = Float[Array, "*#batch action"]
Gate: TypeAlias = Float[Array, "*#batch 1"]
SquaredDistance: TypeAlias = Float[Array, "*#batch"]


class Geometry(eqx.Module):
    """A key space and the Lie group that acts on it (paper, section 3).

    The laws, for actions a, b, c and keys k, l, with ab for `compose(a, b)`:

        identity         e a = a e = a  and  act(e, k) = k
        associativity    (a b) c = a (b c)
        inverse          a inverse(a) = inverse(a) a = e
        action           act(a b, k) = act(a, act(b, k))
        mixing           gate 1 gives the candidate, gate 0 the previous
        isometry         squared_distance(act(a, k), act(a, l)) = squared_distance(k, l), if `isometric`

    Results have the precision of the arguments, and gradients are finite everywhere, also where a
    formula of the paper is singular: at coincident keys, at raw numbers 0, between opposite actions.

    A geometry holds no arrays, only static fields. So it is hashable, equal to every geometry of the same
    class and fields, and fit to be a static argument of a compiled function.
    """

    @property
    @abc.abstractmethod
    def key_size(self) -> int:
        """How many numbers store a key."""

    @property
    @abc.abstractmethod
    def action_size(self) -> int:
        """How many numbers store an action."""

    @property
    @abc.abstractmethod
    def raw_key_size(self) -> int:
        """How many numbers the controller emits for a key."""

    @property
    @abc.abstractmethod
    def raw_action_size(self) -> int:
        """How many numbers the controller emits for an action."""

    @property
    @abc.abstractmethod
    def isometric(self) -> bool:
        """Whether every action preserves all distances."""

    @abc.abstractmethod
    def key(self, raw: RawKey) -> Key:
        """The key that the controller means by the numbers `raw`."""

    @abc.abstractmethod
    def action(self, raw: RawAction) -> Action:
        """The action that the controller means by the numbers `raw`."""

    @abc.abstractmethod
    def identity(self) -> Float[Array, "action"]:
        """The action that moves nothing, in JAX's default precision."""

    @abc.abstractmethod
    def act(self, action: Action, key: Key) -> Key:
        """Where `action` takes `key`."""

    @abc.abstractmethod
    def compose(self, second: Action, first: Action) -> Action:
        """The one action that does `first`, then `second`."""

    @abc.abstractmethod
    def inverse(self, action: Action) -> Action:
        """The action that undoes `action`."""

    @abc.abstractmethod
    def mix_actions(self, gate: Gate, candidate: Action, previous: Action) -> Action:
        """From `previous` (gate 0) to `candidate` (gate 1), within the group."""

    @abc.abstractmethod
    def mix_keys(self, gate: Gate, candidate: Key, previous: Key) -> Key:
        """From `previous` (gate 0) to `candidate` (gate 1), within the key space."""

    @abc.abstractmethod
    def squared_distance(self, key: Key, address: Key) -> SquaredDistance:
        """The square of the distance between a key and the address of a memory.

        Finite, with finite gradients, also for an address of zeros, key or not: free slots of a memory hold those.
        """

    @abc.abstractmethod
    def plane_coordinates(self, key: Key) -> Float[Array, "*#batch 2"]:
        """Where a key is drawn in a picture with the same scale on both axes."""

    @property
    @abc.abstractmethod
    def rim(self) -> float | None:
        """The radius of the circle around the origin of the picture that holds all keys, where there is one."""
