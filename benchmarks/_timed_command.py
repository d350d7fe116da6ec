"""Run a command, and print its time and peak memory.

    python benchmarks/_timed_command.py SECONDS WORD ...

The command runs in a child of this small process, because a large parent would affect its measured peak
memory. Its output is discarded; its errors go to standard error. The last line is JSON: CPU seconds, elapsed
seconds, megabytes, and the exit code; null if the command did not end in time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time


def main(limit: float, words: list[str]) -> None:
    begun = time.perf_counter()
    try:
        code = subprocess.run(words, stdout=subprocess.DEVNULL, timeout=limit, check=False).returncode  # noqa: S603
    except subprocess.TimeoutExpired:
        print("null")
        return
    wall, used = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, mb = used.ru_utime + used.ru_stime, used.ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
    print(json.dumps({"cpu": cpu, "wall": wall, "mb": mb, "code": code}))


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
