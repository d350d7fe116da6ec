"""Measure the coverage of every kind of interval over a grid of designs.

Each cell is a design: a protocol, models, numbers of options, accuracies, items, and faults (unreadable or
failed answers, abstentions, slow experts, clusters, strata). The protocol's own rule draws the questions,
experts answer without error, and the public call estimates. A cell whose coverage is below .95 − 2.6 standard
errors is simulated again with a new seed and ten times the draws; only this second result counts. Reference
widths are those of `_coverage_references` on the same draws.

    python benchmarks/coverage_matrix.py [--quick] [--draws 400]
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks._coverage_commands import run_commands
from benchmarks._coverage_designs import LEVEL, Design
from benchmarks._coverage_gaps import measure_gaps
from benchmarks._coverage_grid import check_grid, make_grid, routed_grid
from benchmarks._coverage_kinds import Cell, measure_all, measure_cell
from benchmarks._coverage_planner import measure_promises
from benchmarks._coverage_references import reference_widths
from benchmarks._options import read_options

AGAIN = 10


def measure_twice(task: tuple[Design, int, int]) -> list[Cell]:
    """Measure one design, and add the reference width. If coverage is low, measure again with more draws.

    `task` is the design, the number of draws, and the number of draws for the reference (0: none).
    """
    design, draws, compared = task
    cell = measure_cell(design, draws, seed=1)
    if cell.low:
        cell = measure_cell(design, AGAIN * draws, seed=2)
    if not compared:
        return [cell]
    ours, best = reference_widths(design, compared)
    return [replace(cell, reference=best, compared=ours)]


def measure_grid(grid: Sequence[Design], draws: int, compared: int) -> list[Cell]:
    """Measure all designs."""
    return measure_all(measure_twice, [(design, draws, compared) for design in grid])


def main() -> None:
    args = read_options(__doc__, {"--draws": (400, 70)})
    started, draws = time.perf_counter(), args.draws
    grid = make_grid(quick=args.quick)
    print(f"{len(grid)} cells, {draws} draws each, nominal {LEVEL:.0%}", flush=True)
    print(f"{'coverage':>8} {'width':>7} {'reference':>9} {'withheld':>8} {'unsure':>6}  design")
    cells = measure_grid(grid, draws, 8 if args.quick else 40)
    routed = measure_grid(routed_grid(), 60 if args.quick else draws, 0)
    print("unanswered questions, and gates with the threshold at the true value:", flush=True)
    gaps = measure_gaps(30 if args.quick else draws // 2, quick=args.quick)
    commands = run_commands(1 if args.quick else 20)
    print(f"with the real commands: {commands}")
    planner_below = measure_promises(50 if args.quick else 300, quick=args.quick)
    print("studies in which no check fails:")
    checked = check_grid((100,))[4::7] if args.quick else check_grid((100, 300, 1000))
    alarms = measure_grid(checked, 60 if args.quick else 400, 0)
    below = sum(cell.low for cell in (*cells, *routed, *gaps))
    ratios = [cell.compared / cell.reference for cell in cells if cell.reference > 0]
    result = {
        "cells": len(cells),
        "silent_below": below,
        "worst": round(min(cell.coverage for cell in cells if cell.draws), 4),
        "withheld": round(float(np.mean([cell.withheld + cell.unsure for cell in cells])), 4),
        "width_vs_best": round(float(np.mean(ratios)), 3) if ratios else None,
        "widest_vs_best": round(max(ratios), 3) if ratios else None,
        "most_false_alarms": round(1 - min(alarm.coverage for alarm in alarms), 4),
        "draws": draws,
        "commands": commands,
        "planner_below": planner_below,
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(result))
    sys.exit(1 if below or planner_below or any(alarm.low for alarm in alarms) else 0)


if __name__ == "__main__":
    main()
