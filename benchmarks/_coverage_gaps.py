"""Measure intervals and gates when unanswered questions are not missing at random.

In some designs, each expert leaves the hardest questions unanswered, on which models are wrong more often. In
others, each expert leaves those unanswered whose answers would contradict the model, or answers easy
questions first. Only intervals with `holds` true are counted, except those of the ``worst_case`` row, which
must cover in every case.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np

import oversight as ov
from benchmarks._coverage_designs import falls_short
from benchmarks._coverage_kinds import WITHHELD, Outcome, compare_ends
from benchmarks._gap_studies import ACCURACY, Gaps, GapStudy
from oversight.harness import EstimateError
from oversight.harness.estimate import PASS, gate_accuracy, gate_difference

LOOKS = 10
AGAIN = 5


@dataclass(frozen=True, kw_only=True)
class GapCell:
    """Result of one interval or gate in the studies of a design.

    Attributes
    ----------
    coverage
        Share of the `counted` studies in which the interval covers, or the gate makes no wrong decision.
    width
        Mean width of the counted intervals; NaN for gates.
    unsure
        Share of all studies in which the interval was withheld or had `holds` false.
    counted
        Number of all studies minus those that `unsure` counts.
    """

    name: str
    coverage: float
    width: float
    unsure: float
    counted: int

    @property
    def low(self) -> bool:
        """Whether the coverage is significantly below the level."""
        return falls_short(self.coverage, self.counted)

    def __str__(self) -> str:
        """Return a line of the printed table."""
        mark = "  LOW" if self.low else ""
        return f"{self.coverage:8.3f} {self.width:7.3f} unsure {self.unsure:.2f}  {self.name}{mark}"


def _see(truth: float, found: Any, *, always: bool = False) -> Outcome:
    """Compare an interval with the truth.

    Returns WITHHELD if there is no interval. Unless `always` is true, an interval with `holds` false also
    counts as withheld.
    """
    return compare_ends(truth, found) if found is not None and (found.holds or always) else WITHHELD


def see_accuracies(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Outcome]]:
    """Check the first model's main accuracy and, if it exists, the worst-case interval."""
    try:
        found = ov.accuracies(study.models["m0"], study.collect(gaps))
    except EstimateError:
        yield "accuracy", WITHHELD
        return
    yield "accuracy", _see(ACCURACY, found.get("ml") or found.get("routed"))
    if "worst_case" in found:
        yield "worst_case", _see(ACCURACY, found["worst_case"], always=True)


def see_difference(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Outcome]]:
    """Check the difference of the first two models by `oversight.compare`."""
    try:
        (pair,) = ov.compare({m: study.models[m] for m in ("m0", "m1")}, study.collect(gaps)).pairs
    except EstimateError:
        yield "difference", WITHHELD
        return
    yield "difference", _see(0.0, pair)


def see_anytime(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Outcome]]:
    """Check the anytime interval at ten interim analyses; all intervals with `holds` true must cover."""
    seen = []
    for look in range(1, LOOKS + 1):
        try:
            found = ov.accuracy(study.models["m0"], study.collect(gaps, look / LOOKS), interval="anytime")
        except EstimateError:
            continue
        seen.append(_see(ACCURACY, found))
    counted = [s for s in seen if s.covered is not None]
    width = float(np.mean([s.width for s in counted])) if counted else math.nan
    yield "anytime", Outcome(all(s.covered for s in counted) if counted else None, width=width)


def see_gates(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Outcome]]:
    """Evaluate gates ten times, with the threshold at the true value.

    Passing counts as an error in one cell, and failing in the other.
    """
    m = study.models
    parts = [study.collect(gaps, look / LOOKS) for look in range(1, LOOKS + 1)]
    found = {}
    if not study.for_difference:
        found["gate_accuracy"] = [gate_accuracy(m["m0"], part, ACCURACY) for part in parts]
    if len(m) > 1:
        found["gate_difference"] = [gate_difference(m["m0"], m["m1"], part, 0.0) for part in parts]
    for name, verdicts in found.items():
        decided = [v.verdict for v in verdicts if v.decided]
        yield f"{name} passes", Outcome(PASS not in decided)
        yield f"{name} fails", Outcome(all(v == PASS for v in decided))


@dataclass(frozen=True, kw_only=True)
class Watch:
    """A protocol, patterns of unanswered questions, and a check of every pattern on the same studies."""

    protocol: str
    see: Callable[[GapStudy, Gaps], Iterator[tuple[str, Outcome]]]
    gaps: tuple[Gaps, ...]
    n: int = 200


def measure_watch(watch: Watch, draws: int, seed: int = 1) -> list[tuple[Gaps, GapCell]]:
    """Draw studies, and count the outcomes of each result for each pattern of unanswered questions."""
    seen = defaultdict[tuple[Gaps, str], list[Outcome]](list)
    for draw in range(draws):
        study = GapStudy(watch.protocol, watch.n, 1_000_000 * seed + draw)
        for gaps in watch.gaps:
            for name, each in watch.see(study, gaps):
                seen[gaps, name].append(each)
    return [
        (gaps, _count(f"{name}: {watch.protocol}, n={watch.n}, {gaps}", each))
        for (gaps, name), each in seen.items()
    ]


def _count(name: str, seen: list[Outcome]) -> GapCell:
    counted = [s for s in seen if s.covered is not None]
    return GapCell(
        name=name,
        coverage=float(np.mean([s.covered for s in counted])) if counted else 1.0,
        width=float(np.mean([s.width for s in counted])) if counted else math.nan,
        unsure=1 - len(counted) / len(seen),
        counted=len(counted),
    )


HARDEST = tuple(Gaps(share=share, known=known) for share in (0.04, 0.15, 0.3) for known in (True, False))
TELLING = tuple(Gaps(share=share, telling=True) for share in (0.02, 0.1))
ORDERS = (
    Gaps(easy_first=True),
    Gaps(easy_first=True, known=False),
    Gaps(),
    Gaps(share=0.15),
    Gaps(share=0.3),
)


def quick_watches() -> list[Watch]:
    """Return a few of the designs. Simulating one study of each takes half a second in total on one core."""
    first = (Gaps(share=0.04), Gaps(share=0.15, known=False), TELLING[0])
    orders = (ORDERS[0], ORDERS[3])
    return [
        Watch(protocol="partitioned", see=see_accuracies, gaps=first, n=100),
        Watch(protocol="targeted for one", see=see_accuracies, gaps=first, n=100),
        Watch(protocol="targeted", see=see_accuracies, gaps=first[:1], n=100),
        Watch(protocol="disagreement", see=see_difference, gaps=first, n=100),
        Watch(protocol="partitioned", see=see_anytime, gaps=first[2:], n=100),
        *[
            Watch(protocol=p, see=see_gates, gaps=orders, n=100)
            for p in ("disagreement", "partitioned", "targeted for one")
        ],
    ]


def full_watches() -> list[Watch]:
    """Return all designs: for intervals, patterns of unanswered questions; for gates, orders of answers."""
    whole = ("partitioned", "targeted for one", "targeted")
    gaps = HARDEST + TELLING
    found = []
    for n in (60, 200):
        found += [Watch(protocol=p, see=see_accuracies, gaps=gaps, n=n) for p in whole]
        found += [
            Watch(protocol=p, see=see_difference, gaps=gaps, n=n) for p in ("disagreement", *whole[::2])
        ]
        found += [Watch(protocol=p, see=see_anytime, gaps=gaps, n=n) for p in whole[:2]]
        found += [Watch(protocol=p, see=see_gates, gaps=ORDERS, n=n) for p in ("disagreement", *whole)]
    return found


def _measure_twice(task: tuple[Watch, int]) -> list[GapCell]:
    """Measure one design, with all its patterns of unanswered questions.

    Patterns with low coverage are measured again with `AGAIN` times as many draws.
    """
    watch, draws = task
    measured = measure_watch(watch, draws)
    bad = tuple(dict.fromkeys(gaps for gaps, cell in measured if cell.low))
    again = measure_watch(replace(watch, gaps=bad), AGAIN * draws, seed=2) if bad else []
    return [cell for gaps, cell in measured if gaps not in bad] + [cell for _, cell in again]


def measure_gaps(draws: int, *, quick: bool = False) -> Iterator[GapCell]:
    """Measure every cell, with two processes."""
    tasks = [(watch, draws) for watch in (quick_watches() if quick else full_watches())]
    with get_context("fork").Pool(2) as pool:
        for cells in pool.imap(_measure_twice, tasks):
            yield from cells
