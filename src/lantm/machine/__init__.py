"""The models: Lie access machines (controller, heads, weighting, memory), the LSTM baseline and the peers."""

from lantm.machine.access import Position
from lantm.machine.backend import Backend
from lantm.machine.controller import Controller, LstmController
from lantm.machine.index import Index
from lantm.machine.inference import Inference, can_infer, infer
from lantm.machine.lantm import Lantm, LantmConfig
from lantm.machine.layer import LieAccess, LieAccessState
from lantm.machine.lstm import Lstm, LstmConfig
from lantm.machine.memory import DropOldest, Grow, Memory, Policy, Window
from lantm.machine.model import Config, Model, ModelName, Output, Trace, parameter_count
from lantm.machine.peers import NtmConfig, RamConfig, TapeRnnConfig, TransformerConfig
from lantm.machine.recurrence import recur
from lantm.machine.state import Schedule
from lantm.machine.step_sums import Noise
from lantm.machine.weighting import WEIGHTINGS, InvNorm, SoftMax, Weighting, make_weighting

__all__ = [
    "WEIGHTINGS",
    "Backend",
    "Config",
    "Controller",
    "DropOldest",
    "Grow",
    "Index",
    "Inference",
    "InvNorm",
    "Lantm",
    "LantmConfig",
    "LieAccess",
    "LieAccessState",
    "Lstm",
    "LstmConfig",
    "LstmController",
    "Memory",
    "Model",
    "ModelName",
    "Noise",
    "NtmConfig",
    "Output",
    "Policy",
    "Position",
    "RamConfig",
    "Schedule",
    "SoftMax",
    "TapeRnnConfig",
    "Trace",
    "TransformerConfig",
    "Weighting",
    "Window",
    "can_infer",
    "infer",
    "make_weighting",
    "parameter_count",
    "recur",
]
