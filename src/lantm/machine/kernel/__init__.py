"""The recurrence as one GPU kernel forward and one backward, in CUDA.

A step of the machine is a dozen small operations. Compiled one by one they cost a GPU more to start than to
run, at every step. Here a block of problems lives in one multiprocessor for all its steps, with the controller's
weights in registers and its state beside them, and time is a loop inside the kernel. The two kernels compute what
`lantm.machine.by_loops` does, and are tested against it.

`source/` has the kernels, `forward.cu` and `backward.cu`. `formulas` prints what geometries, weightings and gates do
to numbers as C (`coordinates`), `heads` says which formulas there are, `program` puts the text together for a
machine, `lantm.machine.compilers` compiles it where it is used, and `calls` calls it. Without a GPU, the same source
runs on a CPU, thread by thread, for tests.
"""

from lantm.machine.kernel.calls import Cotangents, Saved, backward, forward

__all__ = ["Cotangents", "Saved", "backward", "forward"]
