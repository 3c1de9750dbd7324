"""The machines of the paper in NumPy, written to test the library's, serve the tests of evaluation too."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "machine"))
