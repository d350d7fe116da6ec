"""Run a command, and print its time and peak memory.

    python benchmarks/_timed_command.py SECONDS WORD ...

The command runs in a child of this small process, because a large parent would affect its measured peak
memory. Its output is discarded; its errors go to standard error. The last line is JSON: CPU seconds, elapsed
seconds, megabytes, and the exit code; null if the command did not end in time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time


def main(limit: float, words: list[str]) -> None:
    begun = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)  # noqa: S603  a benchmark's own
    signal.signal(signal.SIGALRM, lambda *_: process.kill())
    signal.setitimer(signal.ITIMER_REAL, limit)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL and wall >= limit:
        print("null")
        return
    cpu, mb = used.ru_utime + used.ru_stime, used.ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
    print(json.dumps({"cpu": cpu, "wall": wall, "mb": mb, "code": code}))


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
