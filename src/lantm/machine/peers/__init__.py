"""Models for comparison: other memories with the same controller, and a transformer.

`recurrent.py` is the base class of those with a controller, `stepping.py` runs them; each model is one file.
"""

from lantm.machine.peers.ntm import NtmConfig
from lantm.machine.peers.ram import RamConfig
from lantm.machine.peers.tape_rnn import TapeRnnConfig
from lantm.machine.peers.transformer import TransformerConfig

__all__ = ["NtmConfig", "RamConfig", "TapeRnnConfig", "TransformerConfig"]
