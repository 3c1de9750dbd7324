"""The public API. The Lie Access Neural Turing Machine: a memory with continuous keys, and heads moved by Lie group
actions.

Train and use machines
    train           trains machines on a task or a text, all seeds in parallel, with or without a run folder
    load            loads trained machines by zoo name, file or run folder
    Trained         what both return: scores, verify, solve, trace, save; best, seed, history
    switched        a trained machine with other switches, to see the effect of each
    Experiment, Recipe, LantmConfig, LstmConfig, preset     what is trained, and how
    Progress, History, Scores, Perplexity, Solution, Recording, Verification     the results

The machine as a layer of your own network
    LieAccess       an Equinox module on sequences of vectors; jax.vmap for batches
    Controller      a controller instead of the LSTM

Key spaces and head moves
    Geometry, EuclideanGeometry     base classes of your own geometry
    Translation, Rotation, ScalingRotation, RigidMotion, Sphere, Disk, Hyperbolic
    make_geometry   a geometry by its name

Read weights from distances
    Weighting       base class of your own weighting
    InvNorm, SoftMax

Problems and texts
    Task, SequenceTask, NumberTask, Lengths     base classes of your own task
    make_task       a task by its name
    Text, read_corpus     next-word prediction on a text in three files

Errors
    LantmError      a usage error; its message is one line that says what is wrong and how to fix it

See docs/ for more; `lantm --help` describes the command line.
"""

TYPE_CHECKING = False  # type checkers read it as true; importing it from typing would slow the command line down

__version__ = "0.2.0"

_WHERE = {
    "lantm.errors": ("LantmError",),
    "lantm.evaluation": ("Perplexity", "Recording", "Scores", "Verification"),
    "lantm.geometry": (
        *("Disk", "EuclideanGeometry", "Geometry", "Hyperbolic", "RigidMotion", "Rotation", "ScalingRotation"),
        *("Sphere", "Translation", "make_geometry"),
    ),
    "lantm.library": ("train",),
    "lantm.machine": ("Controller", "InvNorm", "LantmConfig", "LieAccess", "LstmConfig", "SoftMax", "Weighting"),
    "lantm.paper": ("preset",),
    "lantm.tasks": ("Lengths", "NumberTask", "SequenceTask", "Task", "Text", "make_task", "read_corpus"),
    "lantm.trained": ("Solution", "Trained", "load", "switched"),
    "lantm.training": ("Experiment", "History", "Progress", "Recipe"),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

__all__ = ["__version__", *sorted(_MODULES)]

if TYPE_CHECKING:
    from lantm.errors import LantmError as LantmError
    from lantm.evaluation import Perplexity as Perplexity
    from lantm.evaluation import Recording as Recording
    from lantm.evaluation import Scores as Scores
    from lantm.evaluation import Verification as Verification
    from lantm.geometry import Disk as Disk
    from lantm.geometry import EuclideanGeometry as EuclideanGeometry
    from lantm.geometry import Geometry as Geometry
    from lantm.geometry import Hyperbolic as Hyperbolic
    from lantm.geometry import RigidMotion as RigidMotion
    from lantm.geometry import Rotation as Rotation
    from lantm.geometry import ScalingRotation as ScalingRotation
    from lantm.geometry import Sphere as Sphere
    from lantm.geometry import Translation as Translation
    from lantm.geometry import make_geometry as make_geometry
    from lantm.library import train as train
    from lantm.machine import Controller as Controller
    from lantm.machine import InvNorm as InvNorm
    from lantm.machine import LantmConfig as LantmConfig
    from lantm.machine import LieAccess as LieAccess
    from lantm.machine import LstmConfig as LstmConfig
    from lantm.machine import SoftMax as SoftMax
    from lantm.machine import Weighting as Weighting
    from lantm.paper import preset as preset
    from lantm.tasks import Lengths as Lengths
    from lantm.tasks import NumberTask as NumberTask
    from lantm.tasks import SequenceTask as SequenceTask
    from lantm.tasks import Task as Task
    from lantm.tasks import Text as Text
    from lantm.tasks import make_task as make_task
    from lantm.tasks import read_corpus as read_corpus
    from lantm.trained import Solution as Solution
    from lantm.trained import Trained as Trained
    from lantm.trained import load as load
    from lantm.trained import switched as switched
    from lantm.training import Experiment as Experiment
    from lantm.training import History as History
    from lantm.training import Progress as Progress
    from lantm.training import Recipe as Recipe


def __getattr__(name: str) -> object:
    """Imports names on first use, so that the command line starts quickly."""
    if name not in _MODULES:
        raise AttributeError(f"module 'lantm' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
