"""`Geometry`: the contract of a geometry: how controller outputs become keys and actions, and how far
keys are apart."""

import abc
from typing import TypeAlias

import equinox as eqx
from jaxtyping import Array, Float

# Array types shared by all geometries. Components are on the last axis. The axes before it broadcast, so that one call
# compares a read key with all addresses of the memory.
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

    Results have the dtype of the arguments. Gradients are finite everywhere, also at singularities of the paper's
    formulas: coincident keys, raw outputs of zero, opposite actions.

    A geometry has only static fields, no arrays. It is therefore hashable, equal to every geometry of the same class
    and fields, and can be a static argument of a compiled function.
    """

    @property
    @abc.abstractmethod
    def key_size(self) -> int:
        """The size of a key."""

    @property
    @abc.abstractmethod
    def action_size(self) -> int:
        """The size of an action."""

    @property
    @abc.abstractmethod
    def raw_key_size(self) -> int:
        """The number of controller outputs that determine a key."""

    @property
    @abc.abstractmethod
    def raw_action_size(self) -> int:
        """The number of controller outputs that determine an action."""

    @property
    @abc.abstractmethod
    def isometric(self) -> bool:
        """Whether every action preserves all distances."""

    @abc.abstractmethod
    def key(self, raw: RawKey) -> Key:
        """The key determined by the controller's outputs `raw`."""

    @abc.abstractmethod
    def action(self, raw: RawAction) -> Action:
        """The action determined by the controller's outputs `raw`."""

    @abc.abstractmethod
    def identity(self) -> Float[Array, "action"]:
        """The identity element, in JAX's default float dtype."""

    @abc.abstractmethod
    def act(self, action: Action, key: Key) -> Key:
        """The key to which `action` moves `key`."""

    @abc.abstractmethod
    def compose(self, second: Action, first: Action) -> Action:
        """The action that applies `first`, then `second`."""

    @abc.abstractmethod
    def inverse(self, action: Action) -> Action:
        """The action that undoes `action`."""

    @abc.abstractmethod
    def mix_actions(self, gate: Gate, candidate: Action, previous: Action) -> Action:
        """Interpolates between `previous` (gate 0) and `candidate` (gate 1) within the group."""

    @abc.abstractmethod
    def mix_keys(self, gate: Gate, candidate: Key, previous: Key) -> Key:
        """Interpolates between `previous` (gate 0) and `candidate` (gate 1) within the key space."""

    @abc.abstractmethod
    def squared_distance(self, key: Key, address: Key) -> SquaredDistance:
        """The squared distance between a key and the address of a memory slot.

        It must be finite, with finite gradients, also for an address of zeros, even if that is not a key: free slots
        hold zeros.
        """

    @abc.abstractmethod
    def plane_coordinates(self, key: Key) -> Float[Array, "*#batch 2"]:
        """The position of a key in a plot with equal scales on both axes."""

    @property
    @abc.abstractmethod
    def rim(self) -> float | None:
        """The radius of the circle around the plot's origin that contains all keys; None if they are unbounded."""
