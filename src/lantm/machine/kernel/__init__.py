"""The recurrence as one GPU kernel forward and one backward.

A step of the machine is a dozen small operations. Compiled one by one they cost a GPU more to start than to
run, at every step. Here a block of problems lives in one multiprocessor for all its steps: the controller's
state and the heads stay in registers, the memory in the cache beside it, and time is a loop inside the kernel.
The two kernels compute what `lantm.machine.recurrence` does, and are tested against it.

`forward` and `backward` are the kernels, `block` is what they work on, `weights` are their matrix products,
`heads` and `coordinates` take apart what heads do, and `calls` calls it all.
"""

from lantm.machine.kernel.calls import (
    Cotangents,
    Matrices,
    backward,
    forward,
    join,
    matrices,
)
from lantm.machine.kernel.sizes import ROWS, Saved

__all__ = ["ROWS", "Cotangents", "Matrices", "Saved", "backward", "forward", "join", "matrices"]
