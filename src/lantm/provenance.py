"""Where a number comes from: the versions, the commit, the device and the date."""

import datetime
import pathlib
import platform
import subprocess
from typing import Any

import jax

import lantm


def provenance() -> dict[str, Any]:
    """What a result's JSON says about its origin."""
    device = jax.local_devices()[0]
    return {
        "lantm": lantm.__version__,
        "commit": _commit(),
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": f"{device.platform}: {device.device_kind}",
        "devices": jax.local_device_count(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _commit() -> str | None:
    """The commit of the checkout this package runs from, with a plus sign for uncommitted changes."""
    folder = pathlib.Path(__file__).parent
    try:
        described = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
