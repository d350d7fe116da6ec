"""Measure the commands on studies of many items and models, compared with one GROUP BY query.

The study is that of `benchmarks/_scale_studies.py`. Each command runs in a separate process, measured from
its start to its end. The GROUP BY query only counts; `estimate` also computes intervals and checks. The first
estimate computes the columns of every run, which `run` would compute at its end.

    python benchmarks/scale.py [--quick]

The last line is JSON for 100,000 items and 20 models: CPU seconds and peak memory of the estimate, its time
divided by that of the GROUP BY query, CPU seconds of the report, and the exponent with which the estimate's
CPU time grows from 10,000 to 100,000 items. Values of commands that did not finish in time are null.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks._options import read_options
from benchmarks._scale_studies import make_scale_study

STUDIES = ((10_000, 20), (100_000, 20), (1_000_000, 50))
"""Numbers of items and of models; ``--quick`` leaves out the last study."""
LIMIT, QUICK_LIMIT = 1800.0, 40.0
COMMANDS = {
    "first estimate": ("estimate", "--json"),
    "estimate": ("estimate", "--json"),
    "compare": ("compare", "--json"),
    "report": ("report", "report.html"),
    "label status": ("label", "status", "--json"),
}
COUNTS = """SELECT p.run_id, p.status, a.verdict, p.option = q.option, count(*)
  FROM prediction p JOIN question q ON q.item_id = p.item_id JOIN answer a ON a.question_id = q.id
  GROUP BY 1, 2, 3, 4"""


Cost = dict[str, float]
"""CPU seconds ``cpu``, wall-clock seconds ``wall`` and peak megabytes ``mb`` of a process."""


def main() -> None:
    quick = read_options(__doc__).quick
    costs: dict[int, dict[str, Cost | None]] = {}
    counted: dict[int, float] = {}
    for items, models in STUDIES[:2] if quick else STUDIES:
        # The smallest study only measures how the time of the estimate grows.
        commands = list(COMMANDS)[: 2 if items == STUDIES[0][0] else None]
        with tempfile.TemporaryDirectory(prefix="oversight-scale") as name:
            database = make_scale_study(Path(name), items, models)
            counted[items] = count_groups(database, items * models)
            print(f"{items:,} items x {models} models: GROUP BY {counted[items]:.2f} s", flush=True)
            costs[items] = measure(Path(name), commands, QUICK_LIMIT if quick else LIMIT)
    small, estimate, report = costs[10_000]["estimate"], costs[100_000]["estimate"], costs[100_000]["report"]
    result = {
        "estimate_s": round(estimate["cpu"], 2) if estimate else None,
        "estimate_mb": round(estimate["mb"]) if estimate else None,
        "vs_sql": round(estimate["wall"] / counted[100_000], 2) if estimate else None,
        "report_s": round(report["cpu"], 2) if report else None,
        "exponent": round(math.log10(estimate["cpu"] / small["cpu"]), 3) if estimate and small else None,
    }
    print(json.dumps(result))


def count_groups(database: Path, rows: int) -> float:
    """Compute the counts behind all models' estimates by one query. Returns its seconds."""
    with closing(sqlite3.connect(database)) as connection:
        begun = time.perf_counter()
        found = connection.execute(COUNTS).fetchall()
        taken = time.perf_counter() - begun
    assert sum(row[-1] for row in found) == rows
    return taken


def measure(folder: Path, commands: Sequence[str], limit: float) -> dict[str, Cost | None]:
    """Run commands on a study, and print and return their costs; None if a command does not end in time."""
    found: dict[str, Cost | None] = {}
    for name in commands:
        cost = found[name] = run_timed(COMMANDS[name], folder, limit)
        shown = "too slow"
        if cost is not None:
            shown = f"{cost['cpu']:9.2f} s CPU{cost['wall']:9.2f} s{cost['mb']:8.0f} MB"
        print(f"  {name:<14}{shown}", flush=True)
    return found


def run_timed(words: Sequence[str], folder: Path, limit: float) -> Cost | None:
    """Run a command of the project. Returns its cost, or None if it ran longer than `limit` seconds."""
    # Allow bytecode files, because otherwise every start would compile all imports.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    timed = [sys.executable, str(Path(__file__).with_name("_timed_command.py")), str(limit)]
    timed += [str(Path(sys.executable).with_name("oversight")), *words]
    ran = subprocess.run(timed, cwd=folder, capture_output=True, text=True, check=True, env=env)  # noqa: S603
    found: Cost | None = json.loads(ran.stdout.splitlines()[-1])
    if found and found["code"]:
        sys.exit(f"{' '.join(words)}: {ran.stderr[-2_000:]}")
    return found


if __name__ == "__main__":
    main()
