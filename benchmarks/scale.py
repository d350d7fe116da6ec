"""Measure the commands on studies of many items and models, compared with one GROUP BY query.

The study is written directly into its database, see `benchmarks/_scale_studies.py`. Then each real command
runs in a separate process, measured from its start to its end. The GROUP BY query only counts; `estimate`
also computes intervals and checks. The first estimate computes the columns of every run, which `run` would
compute at its end.

    python benchmarks/scale.py [--quick] [--items N ...] [--models M ...] [--engine E ...] [--limit SECONDS]

The last line is JSON for 100,000 items and 20 models in SQLite (or the largest study measured): CPU seconds
and peak memory of the estimate, its time divided by that of the GROUP BY query, CPU seconds of the report,
and the exponent with which the estimate's CPU time grows from 10,000 to 100,000 items. Values of commands
that did not finish in time are null.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._scale_studies import make_scale_study
from benchmarks.servers import start_postgresql

ITEMS, MODELS, ENGINES = (10_000, 100_000, 1_000_000), (1, 20, 50), ("sqlite", "postgresql")
QUICK_ITEMS, QUICK_MODELS = (10_000, 100_000), (20,)
LIMIT, QUICK_LIMIT = 1800.0, 40.0
COMMANDS = {
    "first estimate": ("estimate", "--json"),
    "estimate": ("estimate", "--json"),
    "compare": ("compare", "--json"),
    "report": ("report", "report.html"),
    "label status": ("label", "status", "--json"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU seconds, wall-clock seconds and peak megabytes of a process."""

    cpu: float
    wall: float
    mb: float


Found = dict[str, Cost | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="20 models, up to 100,000 items, SQLite")
    parser.add_argument("--items", type=int, nargs="+")
    parser.add_argument("--models", type=int, nargs="+")
    parser.add_argument("--engine", choices=ENGINES, nargs="+")
    parser.add_argument("--limit", type=float, help="seconds that a command may take")
    args = parser.parse_args()
    quick = args.quick
    limit = args.limit or (QUICK_LIMIT if quick else LIMIT)
    sizes = args.items or (QUICK_ITEMS if quick else ITEMS)
    cells: dict[tuple[str, int, int], Found] = {}
    for engine in args.engine or (ENGINES[:1] if quick else ENGINES):
        for models in args.models or (QUICK_MODELS if quick else MODELS):
            for items in sizes:
                # A quick run needs smaller studies only to measure how the time of the estimate grows.
                few = ["first estimate", "estimate"]
                wanted = few if quick and items < max(sizes) else list(COMMANDS)
                cells[engine, models, items] = measure(engine, items, models, limit, wanted)
    print(json.dumps(summarise(cells)))


def measure(engine: str, items: int, models: int, limit: float, commands: Sequence[str]) -> Found:
    """Create a study, run all commands on it, and print the measurements."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oversight-scale")))
        url = stack.enter_context(start_postgresql()) if engine == "postgresql" else ""
        begun = time.monotonic()
        url = make_scale_study(folder, items, models, url)
        print(
            f"{items:,} items x {models} models, {engine}: made in {time.monotonic() - begun:.0f} s",
            flush=True,
        )
        script = str(Path(__file__).with_name("_scale_group_by.py"))
        found: Found = {"group-by": inside([sys.executable, script, url], items * models)}
        base = found["group-by"]
        show("one group-by", base, base, limit)
        program = str(Path(sys.executable).with_name("oversight"))
        for name in commands:
            if models > 1 or name != "compare":
                found[name] = outside([program, *COMMANDS[name]], folder, limit)
                show(name, found[name], base, limit)
    return found


def show(name: str, cost: Cost | None, base: Cost | None, limit: float) -> None:
    """Print one line with a cost, and its ratio to `base`, the cost of the GROUP BY query."""
    if cost is None:
        print(f"  {name:<14} not finished in {limit:.0f} s", flush=True)
        return
    ratio = f"{cost.wall / base.wall:8.2f} of the group-by's time" if base else ""
    print(f"  {name:<14}{cost.cpu:9.2f} s CPU{cost.wall:9.2f} s{cost.mb:8.0f} MB{ratio}", flush=True)


def outside(words: Sequence[str], folder: Path, limit: float) -> Cost | None:
    """Run a command. Returns its cost including start-up, or None if it ran longer than `limit` seconds."""
    # Allow bytecode files, because otherwise every start would compile all imports.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    timed = [sys.executable, str(Path(__file__).with_name("_timed_command.py")), str(limit), *words]
    done = subprocess.run(timed, cwd=folder, capture_output=True, text=True, check=True, env=environment)  # noqa: S603  itself
    found = json.loads(done.stdout.splitlines()[-1])
    if found and found["code"]:
        sys.exit(f"{' '.join(words)}: {done.stderr[-2_000:]}")
    return Cost(cpu=found["cpu"], wall=found["wall"], mb=found["mb"]) if found else None


def inside(words: Sequence[str], rows: int) -> Cost:
    """Run a script that measures its own cost, and check that it counts all `rows` predictions."""
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603  of this folder
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["counted"] == rows, f"{found['counted']} of {rows} predictions counted"
    return Cost(cpu=found["cpu"], wall=found["wall"], mb=found["mb"])


def summarise(cells: dict[tuple[str, int, int], Found]) -> dict[str, float | None]:
    """Return the results for 100,000 items and 20 models in SQLite; if missing, for the largest study."""
    key = ("sqlite", 20, 100_000)
    key = key if key in cells else max(cells, key=lambda c: (c[0] == "sqlite", c[2], c[1]))
    found = cells[key]
    estimate, report, base = found["estimate"], found.get("report"), found["group-by"]
    small, large = (cells.get((key[0], key[1], n), {}).get("estimate") for n in (10_000, 100_000))
    return {
        "estimate_s": round(estimate.cpu, 2) if estimate else None,
        "estimate_mb": round(estimate.mb) if estimate else None,
        "vs_sql": round(estimate.wall / base.wall, 2) if estimate and base else None,
        "report_s": round(report.cpu, 2) if report else None,
        "exponent": round(math.log10(large.cpu / small.cpu), 3) if small and large else None,
    }


if __name__ == "__main__":
    main()
