"""The counts behind all models' estimates as one group-by in the study's database.

    python benchmarks/_scale_group_by.py URL

The last line is JSON: CPU seconds of this process, seconds, megabytes of it, and the sum of all counts. A
server's own CPU and memory are not in it.
"""

from __future__ import annotations

import json
import resource
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

COUNTS = """SELECT p.run_id, p.status, a.verdict, p.option = q.option, count(*)
  FROM prediction p JOIN question q ON q.item_id = p.item_id JOIN answer a ON a.question_id = q.id
  GROUP BY 1, 2, 3, 4"""


def connect(url: str) -> Any:
    if url.startswith("sqlite:///"):
        return sqlite3.connect(url.removeprefix("sqlite:///"))
    import psycopg

    return psycopg.connect(url.replace("+psycopg", ""))


def peak_mb() -> float:
    """Largest number of megabytes held since the program began.

    Linux's `getrusage` includes what the parent held when it forked, so it is used on other systems only.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 1024)


def main(url: str) -> None:
    connection = connect(url)
    cpu, begun = time.process_time(), time.perf_counter()
    rows = connection.execute(COUNTS).fetchall()
    print(
        json.dumps(
            {
                "cpu": time.process_time() - cpu,
                "wall": time.perf_counter() - begun,
                "mb": peak_mb(),
                "counted": sum(row[-1] for row in rows),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
