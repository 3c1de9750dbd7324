"""`python -m benchmarks.fuzz --minutes 30`: inputs that are nearly right, until the time is over.

The counts go into results/fuzz.json.

An input counts as survived if it is taken, or refused in one line, within ten seconds, and nothing is executed: no
module that a file names is imported, no process is started, nothing is connected to. The number of an input that was
not survived makes it again: `--only KIND --first NUMBER --inputs 1`.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from typing import Any

from benchmarks.fuzz.inputs import KINDS, Base, Kind
from lantm.errors import LantmError
from lantm.provenance import provenance

RESULTS = pathlib.Path(__file__).parent.parent.parent / "results"
LIMIT = 10.0  # seconds for an input
_EXECUTION = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "socket.connect", "os.fork")
_STRANGER = """
import pathlib
pathlib.Path(__file__).with_name("executed").touch()
from lantm.tasks import Copy as Task
from lantm.geometry import Translation as Geometry
from lantm.machine.weighting import InvNorm as Weighting
"""


class Watch:
    """Whether something is executed while inputs are read."""

    def __init__(self, folder: pathlib.Path):
        """The module that files name is put into the folder, which becomes the current one."""
        folder.mkdir()
        (folder / "stranger.py").write_text(_STRANGER)
        os.chdir(folder)
        self._marker, self._events, self.on = folder / "executed", [], False
        sys.addaudithook(lambda event, _: self._events.append(event) if self.on and event in _EXECUTION else None)

    def found(self) -> list[str]:
        """What was executed since the last question."""
        found, self._events = [*self._events, *(["stranger.py"] if self._marker.exists() else [])], []
        self._marker.unlink(missing_ok=True)
        sys.modules.pop("stranger", None)
        return found


def try_input(kind: Kind, number: int, watch: Watch, trusted: bool) -> tuple[bool, str | None]:
    """Whether the input of this number was taken; and what was wrong, if anything."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"more than {LIMIT:.0f} s")

    problem, taken = None, False
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    watch.on = True
    try:
        kind.try_one(random.Random(f"{kind.name} {number}"))
        taken = True
    except LantmError as error:
        problem = "the refusal has several lines" if "\n" in str(error).strip() else None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        problem = f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        watch.on = False
    executed = watch.found()
    if executed and not trusted:
        problem = f"executed {', '.join(executed)}"
    return taken, None if problem is None else f"{kind.name} {number}: {problem}"


def fuzz(scratch: pathlib.Path, minutes: float, inputs: int, first: int = 0, only: str = "") -> dict[str, Any]:
    """The counts, after so many minutes or inputs, whichever comes first."""
    base = Base(scratch)
    watch = Watch(scratch / "here")
    kinds = [kind for kind in (make(base) for make in KINDS) if only in kind.name]
    counts = {kind.name: {"inputs": 0, "taken": 0, "right_digest": kind.right_digest} for kind in kinds}
    problems: list[str] = []
    order = random.Random(8)
    began = time.monotonic()
    for number in range(first, first + inputs):
        if time.monotonic() - began > 60 * minutes:
            break
        (kind,) = order.choices(kinds, [kind.share for kind in kinds])
        # What is typed is the user's own word: there, the module may be imported.
        taken, problem = try_input(kind, number, watch, trusted=kind.name in ("arguments", "module"))
        counts[kind.name]["inputs"] += 1
        counts[kind.name]["taken"] += taken
        if problem is not None:
            problems.append(problem)
            print(problem, flush=True)
    tried = sum(one["inputs"] for one in counts.values())
    return {
        "command": f"make fuzz MINUTES={minutes:g}",
        "inputs": tried,
        "with_right_digests": sum(one["inputs"] for one in counts.values() if one["right_digest"]),
        "minutes": round((time.monotonic() - began) / 60, 1),
        "kinds": counts,
        "problems": problems,
        "made": provenance(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long (default 30)")
    parser.add_argument("--inputs", type=int, default=10**9, help="at most so many inputs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input; another gives others")
    parser.add_argument("--only", default="", help="only kinds whose name has this in it")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "fuzz.json", help="where the JSON goes")
    chosen = parser.parse_args()
    out = chosen.out.resolve()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="fuzz-"))
    warnings.simplefilter("ignore")
    try:
        found = fuzz(scratch, chosen.minutes, chosen.inputs, chosen.first, chosen.only)
    finally:
        os.chdir(out.parent)
        shutil.rmtree(scratch, ignore_errors=True)
    out.write_text(json.dumps(found, indent=2) + "\n")
    right = found["with_right_digests"]
    print(f"{found['inputs']:,} inputs, {right:,} with right digests: {len(found['problems'])} problems")
    return int(bool(found["problems"]))


if __name__ == "__main__":
    raise SystemExit(main())
