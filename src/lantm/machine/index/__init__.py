"""An index over the memory, for inputs so long that reading all of it takes too much time.

`blocks` stores memories in blocks with summaries, `expansion` says what a summary adds to a read and how wrong that can
be, and `reads` reads.
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
