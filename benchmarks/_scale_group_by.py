"""Compute the counts behind all models' estimates by one GROUP BY query in the study's database.

    python benchmarks/_scale_group_by.py URL

The last line is JSON: CPU seconds and peak megabytes of this process, elapsed seconds, and the sum of all
counts. CPU and memory of a database server are not included.
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
    """Return the peak memory of this process in megabytes.

    `getrusage` is used only on systems other than Linux. On Linux, it includes the parent's memory at the
    fork.
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
