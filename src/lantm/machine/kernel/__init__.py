"""The recurrence as one GPU kernel forward and one backward, for machines whose keys are translated.

A step of the machine is a dozen small operations. Compiled one by one they cost a GPU more to start than to
run, at every step. Here a block of problems lives in one multiprocessor for all its steps: the controller's
state and the heads stay in registers, the memory in the cache beside it, and time is a loop inside the kernel.
The two kernels compute what `lantm.machine.recurrence` does, and are tested against it.

Keys are kept as one array a coordinate: inside a kernel arrays cannot be cut. This is why only translations
are served, where coordinates do not mix; other geometries take the loop in `lantm.machine.recurrence`.
"""

from lantm.machine.kernel.calls import (
    Cotangents,
    Matrices,
    backward,
    forward,
    join,
    matrices,
    serves,
)
from lantm.machine.kernel.sizes import ROWS, Saved

__all__ = ["ROWS", "Cotangents", "Matrices", "Saved", "backward", "forward", "join", "matrices", "serves"]
