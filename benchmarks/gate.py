"""Evaluate the gate repeatedly while answers arrive: rate of wrong verdicts, and number of answers needed.

To measure wrong verdicts, the true value equals the bar: an accuracy of .8 or a difference of −.02. Over all
evaluations together, at most 5 % of the studies may pass, and at most 5 % may fail. For models above the bar,
the number of answers until the gate passes is compared with that of one analysis of fixed size. The last line
is JSON.

    python benchmarks/gate.py [--quick] [--studies 400]
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.pool import Pool
from typing import Any

import numpy as np

from benchmarks._coverage_designs import Design, draw, true_accuracies
from benchmarks._options import read_options
from oversight.harness.columns import align_models
from oversight.harness.estimate import PASS, UNDECIDED, gate_accuracy, gate_difference
from oversight.harness.estimate.sample_size import (
    outcomes_to_settle,
    targeted_design_variance,
    uniform_design_variance,
)

LEVEL, EVERY = 0.95, 20
"""Level of the gates, and number of answers between two evaluations."""


@dataclass(frozen=True, kw_only=True)
class GateCell:
    """A design, and a gate that is evaluated on its studies.

    Attributes
    ----------
    kind
        ``"accuracy"`` of the last model, or ``"difference"`` of the first two.
    above
        True value minus the gate's threshold; at 0, passing and failing are both errors.
    """

    kind: str
    design: Design
    above: float = 0.0

    def __str__(self) -> str:
        """Return the kind, the distance from the threshold and the design on one line."""
        place = f"{self.above:+g} from" if self.above else "at"
        return f"{self.kind} {place} the bar: {self.design}"[:150]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Verdicts that occurred in one study, and number of answers at the first verdict (0 if none)."""

    passed: bool
    failed: bool
    answers: int


def look_on(cell: GateCell, seed: int) -> Seen:
    """Draw a study, and evaluate the gate each time `EVERY` more answers have arrived.

    Experts take turns at random, and each follows the order of their queue.
    """
    rng = np.random.default_rng(seed)
    drawn, truth = draw(cell.design, rng), true_accuracies(cell.design)
    models, labels = align_models(list(drawn.models.values()), drawn.labels)
    order = np.arange(len(labels))
    # Keep the order of resolved labels, because their questions depend on earlier answers.
    if not labels.is_resolved:
        places = np.empty(len(labels), np.int64)
        if labels.drawn is not None:
            places[labels.answers] = labels.drawn.place
        turns = rng.permutation(labels.questions.expert)
        in_turn = np.lexsort((places, labels.questions.expert))
        order[np.argsort(turns, kind="stable")] = in_turn
    passed = failed = False
    first = 0
    for n in [*range(EVERY, len(order), EVERY), len(order)]:
        part = labels.take(order[:n])
        if cell.kind == "accuracy":
            found = gate_accuracy(models[-1], part, truth[-1] - cell.above, level=LEVEL)
        else:
            bar = truth[0] - truth[1] - cell.above
            found = gate_difference(models[0], models[1], part, bar, level=LEVEL)
        first = first or n * (found.verdict != UNDECIDED)
        passed |= found.verdict == PASS
        failed |= found.decided and found.verdict != PASS
    return Seen(passed=passed, failed=failed, answers=first)


def boundary_cells(n: int) -> list[GateCell]:
    """Return gates with the threshold at the true value: accuracy .8, difference −.02, K of 2, 4 and 10."""
    cells = []
    for K in (2, 4, 10):
        one = Design(K=(K,), n=n, accuracies=(0.8,))
        two = replace(one, accuracies=(0.78, 0.8))
        designs = [replace(one, protocol=p) for p in ("partitioned", "targeted")]
        designs += [replace(two, protocol=p) for p in ("targeted", "sequential")]
        cells += [GateCell(kind="accuracy", design=design) for design in designs]
        protocols = ("partitioned", "targeted", "sequential", "disagreement")
        cells += [GateCell(kind="difference", design=replace(two, protocol=p)) for p in protocols]
    return cells


def hard_cells(n: int) -> list[GateCell]:
    """Return the gates in difficult studies: unreadable answers, clusters, slow experts or mixed K."""
    plain = Design(n=n, K=(4,), accuracies=(0.8,))
    two = replace(plain, accuracies=(0.78, 0.8))
    kinds = [
        ("accuracy", replace(plain, K=(2, 4, 10))),
        ("accuracy", replace(plain, unreadable=0.1)),
        ("accuracy", replace(plain, unreadable=0.1, protocol="targeted")),
        ("accuracy", replace(plain, cluster=5)),
        ("accuracy", replace(plain, cluster=5, protocol="targeted")),
        ("accuracy", replace(plain, slow=0.5)),
        ("accuracy", replace(plain, abstained=0.1, protocol="targeted")),
        ("accuracy", replace(two, later=1, protocol="targeted", K=(10,), accuracies=(0.7, 0.75, 0.8))),
        ("accuracy", replace(plain, accuracies=(0.5,), K=(10,))),
        ("accuracy", replace(plain, asked=2)),
        ("difference", replace(two, unreadable=0.1, protocol="disagreement")),
        ("difference", replace(two, unreadable=0.1)),
        ("difference", replace(two, cluster=5, protocol="disagreement")),
        ("difference", replace(two, cluster=5, protocol="sequential")),
        ("difference", replace(two, abstained=0.1, protocol="sequential")),
        ("difference", replace(two, together=0.95, protocol="disagreement")),
    ]
    return [GateCell(kind=kind, design=design) for kind, design in kinds]


def power_cells(n: int) -> list[GateCell]:
    """Return gates that should pass: the accuracy or difference is .05 above the threshold."""
    one = Design(n=n, K=(4,), accuracies=(0.85,))
    two = replace(one, accuracies=(0.85, 0.82))
    return [
        GateCell(kind="accuracy", design=replace(one, n=3 * n), above=0.05),
        GateCell(kind="accuracy", design=replace(one, protocol="targeted"), above=0.05),
        GateCell(kind="accuracy", design=replace(one, protocol="sequential"), above=0.05),
        GateCell(kind="difference", design=replace(two, protocol="disagreement"), above=0.05),
    ]


STRICT = 2.6
"""Number of standard errors by which the largest share of wrong verdicts may exceed 5 % by chance."""


def watch(pool: Pool, cell: GateCell, studies: int, seed: int) -> list[Seen]:
    """Simulate this number of studies of a design, and evaluate the gate on each."""
    seeds = [(cell, 1_000_003 * seed + j) for j in range(studies)]
    return pool.starmap(look_on, seeds, chunksize=max(1, studies // 16))


def error_row(cell: GateCell, seen: list[Seen]) -> dict[str, Any]:
    """Return the share of studies in which the gate ever passed, and in which it ever failed."""
    passed, failed = (float(np.mean([getattr(s, name) for s in seen])) for name in ("passed", "failed"))
    print(f"{passed:7.1%} passed {failed:7.1%} failed  {cell}", flush=True)
    return {"cell": str(cell), "studies": len(seen), "passed": passed, "failed": failed}


def power_row(cell: GateCell, seen: list[Seen]) -> dict[str, Any]:
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


def main() -> None:
    """Run and print all cells. Exits with 1 if wrong verdicts are significantly more frequent than 5 %."""
    args = read_options(__doc__, {"--studies": (400, 60)})
    start, cells, rows, powers = time.perf_counter(), boundary_cells(300) + hard_cells(300), [], []
    if args.quick:
        cells = boundary_cells(200)[::3] + hard_cells(200)[::4]
    with get_context("fork").Pool(2) as pool:
        for seed, cell in enumerate(cells):
            rows.append(error_row(cell, watch(pool, cell, args.studies, seed)))
        for seed, cell in enumerate(power_cells(300 if args.quick else 1200), start=1000):
            powers.append(power_row(cell, watch(pool, cell, 30 if args.quick else 100, seed)))
            print(json.dumps(powers[-1]), flush=True)
    most = 1 - LEVEL + STRICT * math.sqrt(LEVEL * (1 - LEVEL) / args.studies)
    worst = max(max(row["passed"], row["failed"]) for row in rows)
    result = {
        "holds": worst <= most,
        "worst": worst,
        "studies": args.studies,
        "errors": rows,
        "power": powers,
    }
    print(json.dumps({**result, "seconds": round(time.perf_counter() - start)}))
    sys.exit(0 if worst <= most else 1)


if __name__ == "__main__":
    main()
