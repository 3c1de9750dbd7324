"""The recurrence as compiled kernels, one forward and one backward: in CUDA for GPUs, in C++ for CPUs.

A step of the machine is a dozen small operations. Compiled separately, they take longer to launch than to run. On a
CPU, every thread runs some problems through all steps, with vector instructions. On a GPU, a thread block runs some
problems through all steps on one multiprocessor, with the controller's weights in registers and the state in shared
memory; the loop over time is inside the kernel. Both compute the same as `lantm.machine.by_loops`, and are tested
against it.

`source/` has the kernels: `forward.cu` and `backward.cu` for a GPU, `cpu_forward.h` and `cpu_backward.h` for a CPU, and
the shared `recurrence.h`. `heads` defines the formulas as JAX functions, `coordinates` rewrites them for scalars,
`formulas` prints them as C, `program` assembles the source for a machine, `lantm.machine.compilers` compiles it at run
time, and `calls` calls it. `cpu_calls` calls further compiled CPU code. For tests without a GPU, the GPU kernels are
emulated on a CPU.
"""

from lantm.machine.kernel.calls import Cotangents, Saved, backward, forward
from lantm.machine.kernel.cpu_calls import prepare

__all__ = ["Cotangents", "Saved", "backward", "forward", "prepare"]
