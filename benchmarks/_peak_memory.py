"""Peak memory of this process, by the standard library alone."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_mb() -> float:
    """Most megabytes held since the program began.

    Linux's `getrusage` counts what the parent held when it forked, too, so it is asked only elsewhere.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 1024)
