"""Designs of studies on which `benchmarks.gate` evaluates a gate repeatedly while answers arrive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks._coverage_designs import Design, draw, true_accuracies
from oversight.harness.arrays import IntArray
from oversight.harness.columns import LabelColumns, align_models
from oversight.harness.estimate import PASS, UNDECIDED, gate_accuracy, gate_difference

LEVEL, MARGIN = 0.95, 0.02


@dataclass(frozen=True, kw_only=True)
class GateCell:
    """A design, and a gate that is evaluated on its studies.

    Attributes
    ----------
    kind
        ``"accuracy"`` of the last model, or ``"difference"`` of the first two.
    above
        True value minus the gate's threshold; at 0, passing and failing are both errors.
    every
        Number of answers between two evaluations.
    """

    kind: str
    design: Design
    above: float = 0.0
    every: int = 20

    def __str__(self) -> str:
        """Return the kind, the distance from the threshold and the design on one line."""
        return f"{self.kind} {'at' if not self.above else f'{self.above:+g} from'} the bar: {self.design}"[
            :150
        ]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Verdicts that occurred in one study, and number of answers at the first verdict (0 if none)."""

    passed: bool
    failed: bool
    answers: int


def _find_places(labels: LabelColumns) -> IntArray:
    """Return the position of each label's question in its expert's queue; requires complete labels."""
    places = np.empty(len(labels), np.int64)
    if labels.drawn is not None:
        places[labels.answers] = labels.drawn.place
    return places


def look_on(cell: GateCell, seed: int) -> Seen:
    """Draw a study, and evaluate the gate each time `cell.every` more answers have arrived.

    Experts take turns at random, and each follows the order of their queue.
    """
    rng = np.random.default_rng(seed)
    drawn, truth = draw(cell.design, rng), true_accuracies(cell.design)
    models, labels = align_models(list(drawn.models.values()), drawn.labels)
    order = np.arange(len(labels))
    # Keep the order of resolved labels, because their questions depend on earlier answers.
    if not labels.is_resolved:
        turns = rng.permutation(labels.questions.expert)
        in_turn = np.lexsort((_find_places(labels), labels.questions.expert))
        order[np.argsort(turns, kind="stable")] = in_turn
    passed = failed = False
    first = 0
    for n in [*range(cell.every, len(order), cell.every), len(order)]:
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
        one: dict[str, Any] = {"K": (K,), "n": n, "accuracies": (0.8,)}
        two = one | {"accuracies": (0.78, 0.8)}
        cells += [
            GateCell(kind="accuracy", design=Design(protocol=p, **one)) for p in ("partitioned", "targeted")
        ]
        cells += [
            GateCell(kind="accuracy", design=Design(protocol=p, **two)) for p in ("targeted", "sequential")
        ]
        protocols = ("partitioned", "targeted", "sequential", "disagreement")
        cells += [GateCell(kind="difference", design=Design(protocol=p, **two)) for p in protocols]
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
