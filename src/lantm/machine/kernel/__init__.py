"""The recurrence as compiled kernels, one forward and one backward: in CUDA for GPUs, in C++ for CPUs.

A step of the machine is a dozen small operations. Compiled one by one they cost more to start than to run, at every
step. On a CPU, every thread takes some problems through all steps, with the vectors that the processor has. On a GPU a
block of problems lives in one multiprocessor for all its steps, with the controller's weights in registers and its
state beside them, and time is a loop inside the kernel. The two kernels compute what `lantm.machine.by_loops` does, and
are tested against it.

`source/` has the kernels: `forward.cu` and `backward.cu` for a GPU, `cpu_forward.h` and `cpu_backward.h` for a CPU, and
what they share, `recurrence.h`. `formulas` prints what geometries, weightings and gates do to numbers as C
(`coordinates`), `heads` says which formulas there are, `program` puts the text together for a machine,
`lantm.machine.compilers` compiles it where it is used, and `calls` calls it. `cpu_calls` has what else is compiled for
a CPU. For tests without a GPU, a GPU's kernels run on a CPU, thread by thread.
"""

from lantm.machine.kernel.calls import Cotangents, Saved, backward, forward
from lantm.machine.kernel.cpu_calls import prepare

__all__ = ["Cotangents", "Saved", "backward", "forward", "prepare"]
