"""An approximate index over the memory, with error bounds, for inputs too long to read the whole memory at every step.

`blocks` stores memories in blocks with summaries, `expansion` computes the contribution of a summary to a read and its
error bound, and `reads` reads.
"""

from lantm.machine.index.reads import (
    Index,
    Reading,
    check_geometry,
    check_weighting,
    has_index,
    read,
    read_all,
    read_blocks,
)

__all__ = ["Index", "Reading", "check_geometry", "check_weighting", "has_index", "read", "read_all", "read_blocks"]
