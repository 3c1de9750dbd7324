"""Training from the weights of a trained machine."""

import jax

from lantm.errors import LantmError
from lantm.machine import Model
from lantm.randomness import INITIALISE, seed_key
from lantm.tasks import Source, Text
from lantm.trained.trained import Trained
from lantm.training import Experiment, ModelName
from lantm.weight_files import named_shapes


def initial_weights(origin: Trained, experiment: Experiment, source: Source) -> Model:
    """The weights of a trained machine, or of the best of several, for another training that they fit."""
    model, before = origin.model(), origin.source
    like: Model = jax.eval_shape(lambda: experiment.machine.build(source.vocabulary, seed_key(0, INITIALISE)))
    ours, theirs = named_shapes(like), named_shapes(model)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            raise LantmError(
                f"the weights of {origin.name} do not fit: {name} is {_shown(theirs.get(name))} there and "
                f"{_shown(ours.get(name))} here; take a task of as many symbols, and leave the sizes of the machine"
            )
    words = [one.corpus.words for one in (before, source) if isinstance(one, Text)]
    if words and (len(words) == 1 or words[0] != words[1]):
        raise LantmError(f"{origin.name} has another vocabulary: train it further on the text that it was trained on")
    weights: Model = jax.tree.unflatten(jax.tree.structure(like), jax.tree.leaves(model))
    return weights


def preset_model(origin: Trained) -> ModelName:
    """The model whose preset a training from this machine begins with."""
    model = origin.experiment.model
    return "lantm-invnorm" if model == "lantm" else model


def _shown(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else " x ".join(map(str, shape)) or "one number"
