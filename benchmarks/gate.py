"""Evaluate the gate repeatedly while answers arrive: rate of wrong verdicts, and number of answers needed.

To measure wrong verdicts, the true value equals the bar: an accuracy of .8 or a difference of −.02. Over all
evaluations together, at most 5 % of the studies may pass, and at most 5 % may fail. For models above the bar,
the number of answers until the gate passes is compared with that of one analysis of fixed size. The last line
is JSON.

    python benchmarks/gate.py [--quick] [--studies 400]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._gate_cells import LEVEL, GateCell, Seen, boundary_cells, hard_cells, look_on, power_cells
from oversight.harness.estimate.sample_size import (
    outcomes_to_settle,
    targeted_design_variance,
    uniform_design_variance,
)

STRICT = 2.6
"""Number of standard errors by which the largest share of wrong verdicts may exceed 5 % by chance."""


def watch(pool: Pool, cell: GateCell, studies: int, seed: int) -> list[Seen]:
    """Simulate this number of studies of a design, and evaluate the gate on each."""
    seeds = [(cell, 1_000_003 * seed + j) for j in range(studies)]
    return pool.starmap(look_on, seeds, chunksize=max(1, studies // 16))


def error_row(cell: GateCell, seen: Sequence[Seen]) -> dict[str, Any]:
    """Return the share of studies in which the gate ever passed, and in which it ever failed."""
    passed, failed = (float(np.mean([getattr(s, name) for s in seen])) for name in ("passed", "failed"))
    return {"cell": str(cell), "studies": len(seen), "passed": passed, "failed": failed}


def power_row(cell: GateCell, seen: Sequence[Seen]) -> dict[str, Any]:
    """Return quantiles of the number of answers until the gate passes.

    For designs with a known variance, `fixed` is the number of answers that a single analysis needs for power
    .8.
    """
    answers = sorted(s.answers if s.passed else math.inf for s in seen)
    row: dict[str, Any] = {"cell": str(cell), "passed": float(np.mean([s.passed for s in seen]))}
    row |= {
        name: None if math.isinf(n := answers[int(q * (len(answers) - 1))]) else n
        for name, q in (("median", 0.5), ("four_of_five", 0.8))
    }
    K, A = cell.design.K[0], cell.design.accuracies[-1]
    variance = {"partitioned": uniform_design_variance(K, A), "targeted": targeted_design_variance(A)}
    if cell.design.protocol in variance and cell.kind == "accuracy":
        once = outcomes_to_settle(cell.above, variance[cell.design.protocol], level=LEVEL, looks=False)
        row["fixed"] = math.ceil(once)
    return row


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print all cells. Returns 1 if wrong verdicts are significantly more frequent than 5 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--studies", type=int, default=400)
    args = parser.parse_args(argv)
    start, studies, n = time.perf_counter(), args.studies, 300
    cells = boundary_cells(n) + hard_cells(n)
    if args.quick:
        studies, cells = min(studies, 60), boundary_cells(200)[::3] + hard_cells(200)[::4]
    errors, powers = [], []
    with get_context("fork").Pool(2) as pool:
        for seed, cell in enumerate(cells):
            errors.append(error_row(cell, watch(pool, cell, studies, seed)))
            row = errors[-1]
            print(f"{row['passed']:7.1%} passed {row['failed']:7.1%} failed  {cell}", flush=True)
        for seed, cell in enumerate(power_cells(300 if args.quick else 1200), start=1000):
            powers.append(power_row(cell, watch(pool, cell, 30 if args.quick else 100, seed)))
            print(json.dumps(powers[-1]), flush=True)
    most = 1 - LEVEL + STRICT * math.sqrt(LEVEL * (1 - LEVEL) / studies)
    worst = max(max(row["passed"], row["failed"]) for row in errors)
    result = {"holds": worst <= most, "worst": worst, "studies": studies, "errors": errors, "power": powers}
    print(json.dumps({**result, "seconds": round(time.perf_counter() - start)}))
    return 0 if worst <= most else 1


if __name__ == "__main__":
    sys.exit(main())
