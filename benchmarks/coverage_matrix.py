"""Measure the coverage of every kind of interval over a grid of designs.

Each cell is a design: a protocol, models, numbers of options, accuracies, items, and faults (unreadable or
failed answers, abstentions, slow experts, clusters, strata). The protocol's own rule draws the questions,
experts answer without error, and the public call estimates. A cell whose coverage is below .95 − 2.6 standard
errors is simulated again with a new seed and ten times the draws; only this second result counts. Reference
widths are those of `_coverage_references` on the same draws.

    python benchmarks/coverage_matrix.py [--quick] [--draws 400] [--commands 20]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._coverage_checks import measure_false_alarms
from benchmarks._coverage_commands import COMMAND_CELLS, run_commands
from benchmarks._coverage_designs import LEVEL, Design, falls_short
from benchmarks._coverage_gaps import measure_gaps
from benchmarks._coverage_grid import full_grid, quick_grid
from benchmarks._coverage_kinds import cover
from benchmarks._coverage_planner import measure_promises
from benchmarks._coverage_references import reference_widths
from benchmarks._coverage_widths import accuracy_cells, misled_cell

AGAIN = 10
COMPARED, QUICK_COMPARED = 40, 8
QUICK_GAPS = 40


@dataclass(frozen=True)
class Cell:
    """Results of a design.

    Attributes
    ----------
    coverage, draws
        Coverage and number of the intervals with ``holds: true``.
    width
        Mean width of these intervals.
    withheld, unsure
        Share of intervals that were withheld, and share of intervals with ``holds: false``.
    reference
        Mean width of the narrowest reference interval that covers; NaN if none is computed.
    compared
        Mean width of our intervals on the draws of the reference.
    """

    design: Design
    coverage: float
    draws: int
    width: float
    withheld: float
    unsure: float
    reference: float = math.nan
    compared: float = math.nan

    @property
    def low(self) -> bool:
        """Whether the coverage is significantly below the level."""
        return falls_short(self.coverage, self.draws)


def measure(task: tuple[Design, int, int]) -> Cell:
    """Measure one design; `task` is the design, the number of draws and the seed."""
    design, draws, seed = task
    rng = np.random.default_rng([seed, sum(map(ord, str(design)))])
    seen = [outcome for _ in range(draws) for outcome in cover(design, rng)]
    printed = [o for o in seen if o.covered is not None and o.holds]
    return Cell(
        design=design,
        coverage=float(np.mean([o.covered for o in printed])) if printed else math.nan,
        draws=len(printed),
        width=float(np.mean([o.width for o in printed])) if printed else math.nan,
        withheld=sum(o.covered is None for o in seen) / len(seen),
        unsure=sum(o.covered is not None and not o.holds for o in seen) / len(seen),
    )


def measure_twice(task: tuple[Design, int, int]) -> Cell:
    """Measure one design, and add the reference width. If coverage is low, measure again with more draws.

    `task` is the design, the number of draws, and the number of draws for the reference.
    """
    design, draws, compared = task
    cell = measure((design, draws, 1))
    if cell.low:
        cell = measure((design, AGAIN * draws, 2))
    ours, best = reference_widths(design, compared)
    return replace(cell, reference=best, compared=ours)


def measure_grid(tasks: Sequence[tuple[Design, int, int]]) -> list[Cell]:
    """Measure all designs with two processes, and print each result when it is known."""
    cells = []
    with get_context("fork").Pool(2) as pool:
        for cell in pool.imap(measure_twice, tasks):
            cells.append(cell)
            mark = "  LOW" if cell.low else ""
            print(
                f"{cell.coverage:8.3f} {cell.width:7.3f} {cell.reference:9.3f} {cell.withheld:8.2f} "
                f"{cell.unsure:6.2f}  {cell.design}{mark}",
                flush=True,
            )
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a part of the grid, under 4 minutes on 2 cores")
    parser.add_argument("--draws", type=int, help="draws a cell (default: 400, quick 100)")
    parser.add_argument("--commands", type=int, help="draws of each command cell (default: 20, quick 1)")
    args = parser.parse_args()
    started = time.perf_counter()
    grid = quick_grid() if args.quick else full_grid()
    draws = args.draws or (100 if args.quick else 400)
    compared = QUICK_COMPARED if args.quick else COMPARED
    print(f"{len(grid)} cells, {draws} draws each, nominal {LEVEL:.0%}", flush=True)
    print(f"{'coverage':>8} {'width':>7} {'reference':>9} {'withheld':>8} {'unsure':>6}  design")
    cells = measure_grid([(design, draws, compared) for design in grid])
    some = 60 if args.quick else draws
    widths = [*accuracy_cells(some), misled_cell(some)]
    for each in widths:
        print(f"{each.coverage:8.3f} {each.width:7.3f} factor {each.factor:.2f}  {each.name}", flush=True)
    gaps = list(measure_gaps(QUICK_GAPS if args.quick else draws // 2, quick=args.quick))
    print(
        "over questions that are left open, and gates with the bar at the truth:", *gaps, sep="\n", flush=True
    )
    commands = run_commands(args.commands or (1 if args.quick else 20))
    print(f"through the real commands, {len(COMMAND_CELLS)} cells: {commands}")
    promises = measure_promises(quick=args.quick)
    print(
        "cells by kind: "
        + ", ".join(f"{n} {kind}" for kind, n in Counter(c.design.kind for c in cells).items())
    )
    alarms = measure_false_alarms(100 if args.quick else 400, quick=args.quick)
    for alarm in alarms:
        print(f"{alarm.share:8.3f} with a failed check{'  HIGH' if alarm.is_high else ''}  {alarm.design}")
    below = sum(c.low for c in cells) + sum(w.low for w in widths) + sum(g.low for g in gaps)
    ratios = [c.compared / c.reference for c in cells if c.reference > 0]
    print(
        json.dumps(
            {
                "cells": len(cells),
                "silent_below": below,
                "worst": round(min(c.coverage for c in cells if c.draws), 4),
                "withheld": round(float(np.mean([c.withheld + c.unsure for c in cells])), 4),
                "width_vs_best": round(float(np.mean(ratios)), 3) if ratios else None,
                "widest_vs_best": round(max(ratios), 3) if ratios else None,
                "most_false_alarms": round(max(a.share for a in alarms), 4),
                "draws": draws,
                "commands": commands,
                "planner_below": sum(p["low"] for p in promises),
                "seconds": round(time.perf_counter() - started, 1),
            }
        )
    )
    bad = below > 0 or any(p["low"] for p in promises)
    sys.exit(1 if bad or any(a.is_high for a in alarms) else 0)


if __name__ == "__main__":
    main()
