"""What usually helps when no seed of a training has solved its task."""

from collections.abc import Sequence

from lantm.errors import LantmError
from lantm.paper import preset
from lantm.trained import preset_model
from lantm.training import Experiment
from lantm.training.rows import Row

_LONGER = ("robust", "exact", "tuned")


def advice(experiment: Experiment, rows: Sequence[Row], resume: str) -> list[str]:
    """Lines for a training after which no seed solves its first test; `resume` is the command that continues it."""
    if rows[0].get("solved") != 0:
        return []
    lines = [f"no seed solved {rows[0]['scale']}; train further: {resume} --epochs {2 * experiment.recipe.epochs}"]
    recipes = [name for name in _LONGER if name != experiment.recipe_name and _exists(experiment, name)]
    if recipes:
        flags = " or ".join(f"--recipe {name}" for name in recipes)
        lines.append(f"or start anew with {flags}, for longer training; docs/robust-recipe.md: why seeds fail")
    return lines


def _exists(experiment: Experiment, recipe: str) -> bool:
    """Whether the task and the model have this recipe."""
    try:
        preset(experiment.task, preset_model(experiment), recipe)
    except LantmError:
        return False
    return True
