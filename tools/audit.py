"""`make audit`: are there known vulnerabilities in the versions that constraints.txt pins?

They are looked up in the database of the Python Package Index, by pip-audit. Where it cannot be reached, that is said,
and nothing counts as checked.
"""

import json
import pathlib
import subprocess
import sys
from typing import Any

PINS = pathlib.Path(__file__).parent.parent / "constraints.txt"
COMMAND = ("-m", "pip_audit", "--requirement", str(PINS), "--no-deps", "--disable-pip", "--format", "json")


def main() -> int:
    asked = subprocess.run(
        [sys.executable, *COMMAND, "--progress-spinner", "off"], capture_output=True, text=True, check=False
    )
    try:
        found = json.loads(asked.stdout)["dependencies"]
    except (ValueError, LookupError, TypeError):
        lines = asked.stderr.strip().splitlines() or ["no answer"]
        print(f"NOT CHECKED: the database of known vulnerabilities cannot be reached ({lines[-1]})")
        return 0
    status, lines = verdict(found)
    print("\n".join(lines))
    return status


def verdict(found: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """The exit status, 1 where a vulnerability is known, and what is said of all pins."""
    skipped = [one["name"] for one in found if "skip_reason" in one]
    checked = [one for one in found if "skip_reason" not in one]
    known = [
        f"{one['name']} {one['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for one in checked
        for flaw in one["vulns"]
    ]
    if not checked:
        return 0, ["NOT CHECKED: the database of known vulnerabilities cannot be reached, or has none of our pins"]
    lines = [*known, f"{len(checked)} pinned versions checked, {len(known)} known vulnerabilities"]
    if skipped:
        lines.append(f"NOT CHECKED, for the database does not have them: {', '.join(skipped)}")
    return int(bool(known)), lines


if __name__ == "__main__":
    raise SystemExit(main())
