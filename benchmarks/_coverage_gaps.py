"""Do intervals and gates hold if experts leave questions open because of what the answers would be?

Each expert leaves the hardest questions open, on which models are wrong more often, or those whose answers
speak against the model; or answers easy questions first. Only intervals that say that they hold count, except
those of the ``worst_case`` row, which must cover whatever is open.

    python benchmarks/_coverage_gaps.py [--draws 200] [--quick]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import harness as h
from harness import EstimateError
from harness.estimate import PASS, gate_accuracy, gate_difference
from harness.types import Answer, Item, Labels, Prediction, Question, Verdict
from protocols.routing import Disagreement, Partitioned, Targeted, one_expert_per_class, order_queue

CLASSES = ("a", "b", "c", "d")
ROSTER = one_expert_per_class(CLASSES)
HARD = 0.4
"""Share of hard items. A model is right on .4 of them and on .9 of the others."""
ACCURACY = HARD * 0.4 + (1 - HARD) * 0.9
"""Of every model. The second is right as often on hard items as on others, so all differences are 0."""
MODELS = {"partitioned": 2, "targeted": 3, "targeted for one": 1, "disagreement": 2}
"""Number of models by protocol; those of partitioned questions do not decide what is asked."""
LOOKS = 10
LEVEL, STRICT, AGAIN = 0.95, 2.6, 5
NEAR = 1e-9


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """Which questions experts leave open.

    Attributes
    ----------
    share
        Share of every expert's questions that stays open.
    telling
        Whether they are those whose answers speak against the first model; else the hardest.
    known
        Whether the order in which questions are handed out is stored.
    easy_first
        Whether experts answer in the order of difficulty; else in that in which questions are handed out.
    """

    share: float = 0.0
    telling: bool = False
    known: bool = True
    easy_first: bool = False

    def __str__(self) -> str:
        """Say what is left open, and in which order experts answer."""
        which = "that speak against the model" if self.telling else "that are hardest"
        order = "easy first" if self.easy_first else "in order" if self.known else "in unknown order"
        return f"{self.share:.0%} open {which}, {order}" if self.share else order


@dataclass(frozen=True, kw_only=True)
class GapCell:
    """Share of the studies of a design in which an interval covered, or in which a gate stayed undecided.

    Attributes
    ----------
    coverage
        Of `counted` studies: those whose interval was given and says that it holds.
    width
        Mean width of these intervals; NaN for gates.
    unsure
        Share of all studies whose interval was withheld or says that it may not hold.
    """

    name: str
    coverage: float
    width: float
    unsure: float
    counted: int

    @property
    def low(self) -> bool:
        """Whether the coverage is below the level by more than chance."""
        error = math.sqrt(LEVEL * (1 - LEVEL) / max(1, self.counted))
        return self.coverage < LEVEL - STRICT * error

    def __str__(self) -> str:
        """Give a line of the table."""
        mark = "  LOW" if self.low else ""
        return f"{self.coverage:8.3f} {self.width:7.3f} unsure {self.unsure:.2f}  {self.name}{mark}"


@dataclass(frozen=True)
class Seen:
    """Whether an interval covered (None: withheld or unsure), and its width."""

    covered: bool | None
    width: float = math.nan


class GapStudy:
    """A study that was drawn by a protocol, for `MODELS` of it."""

    def __init__(self, protocol: str, n: int, seed: int) -> None:
        rng = np.random.default_rng([seed, n])
        self.items = [Item(f"{seed}-{j}", "?", CLASSES, (0, 1, 2, 3)) for j in range(n)]
        y, ease = rng.integers(0, 4, n), rng.random(n)
        rate = np.where(ease < HARD, 0.4, 0.9)
        names = [item.id for item in self.items]
        self.truth = dict(zip(names, y.tolist(), strict=True))
        self.ease = dict(zip(names, ease.tolist(), strict=True))
        self.said: dict[str, dict[str, int | None]] = {}
        for j in range(MODELS[protocol]):
            right = rng.random(n) < (ACCURACY if j == 1 else rate)
            options = np.where(right, y, (y + rng.integers(1, 4, n)) % 4)
            self.said[f"m{j}"] = dict(zip(names, options.tolist(), strict=True))
        self.models = {
            model: [Prediction(name, option) for name, option in said.items()]
            for model, said in self.said.items()
        }
        self.for_difference = protocol == "disagreement"
        rule: Partitioned | Targeted | Disagreement = Targeted(ROSTER, self.said, seed)
        if protocol == "partitioned":
            rule = Partitioned(ROSTER, seed)
        elif self.for_difference:
            rule = Disagreement(ROSTER, self.said, seed)
        self.questions = rule.route(self.items)

    @cached_property
    def queues(self) -> list[list[Question]]:
        """The questions of every expert in the order in which they are handed out."""
        found = defaultdict[str, list[Question]](list)
        for question in self.questions:
            found[question.expert].append(question)
        return [[q for q in order_queue(own) if isinstance(q, Question)] for own in found.values()]

    def speaks_against(self, question: Question) -> bool:
        """Whether the answer speaks against the first model."""
        is_predicted = self.said["m0"][question.item_id] == question.option
        return is_predicted != (self.truth[question.item_id] == question.option)

    def collect(self, gaps: Gaps, part: float = 1.0) -> Labels:
        """Labels of the first part of what every expert works through."""
        answers = [
            Answer(q, q.expert, self._judge(q), "simulated")
            for queue in self.queues
            for q in self._work(queue, gaps)[: max(1, round(part * len(queue)))]
            if q is not None
        ]
        if gaps.known:
            return h.decode(answers, self.questions)
        blank = {q.id: replace(q, place=None) for q in self.questions}
        return h.decode([replace(a, question=blank[a.question.id]) for a in answers], list(blank.values()))

    def _judge(self, question: Question) -> Verdict:
        return Verdict.YES if self.truth[question.item_id] == question.option else Verdict.NO

    def _work(self, queue: list[Question], gaps: Gaps) -> list[Question | None]:
        """Questions in the order in which an expert comes to them, None for one that stays open."""
        hardest = sorted(queue, key=lambda q: self.ease[q.item_id])
        order = hardest[::-1] if gaps.easy_first else queue
        first = [q for q in queue if self.speaks_against(q)] if gaps.telling else hardest
        open_ = {q.id for q in first[: round(gaps.share * len(queue))]}
        return [None if q.id in open_ else q for q in order]


def _one(truth: float, found: h.Estimate | None, *, always: bool = False) -> Seen:
    if found is None or not (found.holds or always):
        return Seen(None)
    return Seen(bool(found.low - NEAR <= truth <= found.high + NEAR), found.high - found.low)


def see_accuracies(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Seen]]:
    """The main accuracy of the first model, and what covers whatever is open."""
    try:
        found = h.accuracies(study.models["m0"], study.collect(gaps))
    except EstimateError:
        yield "accuracy", Seen(None)
        return
    yield "accuracy", _one(ACCURACY, found.get("ml") or found.get("routed"))
    if "worst_case" in found:
        yield "worst_case", _one(ACCURACY, found["worst_case"], always=True)


def see_difference(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Seen]]:
    """The difference of the first two models by `harness.compare`."""
    try:
        (pair,) = h.compare({m: study.models[m] for m in ("m0", "m1")}, study.collect(gaps)).pairs
    except EstimateError:
        yield "difference", Seen(None)
        return
    inside = pair.low - NEAR <= 0 <= pair.high + NEAR
    yield "difference", Seen(bool(inside), pair.high - pair.low) if pair.holds else Seen(None)


def see_anytime(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Seen]]:
    """The running interval at ten looks; all that say that they hold must do so."""
    seen = []
    for look in range(1, LOOKS + 1):
        try:
            found = h.accuracy(study.models["m0"], study.collect(gaps, look / LOOKS), interval="anytime")
        except EstimateError:
            continue
        seen.append(_one(ACCURACY, found))
    counted = [s for s in seen if s.covered is not None]
    width = float(np.mean([s.width for s in counted])) if counted else math.nan
    yield "anytime", Seen(all(s.covered for s in counted) if counted else None, width)


def see_gates(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Seen]]:
    """Gates with the bar at the truth, watched ten times: whether one ever passes, or fails."""
    m = study.models
    parts = [study.collect(gaps, look / LOOKS) for look in range(1, LOOKS + 1)]
    found = {}
    if not study.for_difference:
        found["gate_accuracy"] = [gate_accuracy(m["m0"], part, ACCURACY) for part in parts]
    if len(m) > 1:
        found["gate_difference"] = [gate_difference(m["m0"], m["m1"], part, 0.0) for part in parts]
    for name, verdicts in found.items():
        decided = [v.verdict for v in verdicts if v.decided]
        yield f"{name} passes", Seen(PASS not in decided)
        yield f"{name} fails", Seen(all(v == PASS for v in decided))


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What is looked at in the same studies: a protocol, what experts leave open, and the calls."""

    protocol: str
    see: Callable[[GapStudy, Gaps], Iterator[tuple[str, Seen]]]
    gaps: tuple[Gaps, ...]
    n: int = 200


def measure_watch(watch: Watch, draws: int, seed: int = 1) -> list[tuple[Gaps, GapCell]]:
    """Draw studies, and count for every pattern of open questions and every result."""
    seen = defaultdict[tuple[Gaps, str], list[Seen]](list)
    for draw in range(draws):
        study = GapStudy(watch.protocol, watch.n, 1_000_000 * seed + draw)
        for gaps in watch.gaps:
            for name, each in watch.see(study, gaps):
                seen[gaps, name].append(each)
    return [
        (gaps, _count(f"{name}: {watch.protocol}, n={watch.n}, {gaps}", each))
        for (gaps, name), each in seen.items()
    ]


def _count(name: str, seen: list[Seen]) -> GapCell:
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
    """Some of every kind, about half a second of one core per draw."""
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
    """Intervals over gaps by all protocols, and gates over gaps and in informative orders."""
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
    """Measure a watch; patterns with a low cell are drawn once more, with more draws."""
    watch, draws = task
    measured = measure_watch(watch, draws)
    bad = tuple(dict.fromkeys(gaps for gaps, cell in measured if cell.low))
    again = measure_watch(replace(watch, gaps=bad), AGAIN * draws, seed=2) if bad else []
    return [cell for gaps, cell in measured if gaps not in bad] + [cell for _, cell in again]


def measure_gaps(draws: int, *, quick: bool = False) -> Iterator[GapCell]:
    """Coverage of every cell, on two cores."""
    tasks = [(watch, draws) for watch in (quick_watches() if quick else full_watches())]
    with get_context("fork").Pool(2) as pool:
        for cells in pool.imap(_measure_twice, tasks):
            yield from cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    for cell in measure_gaps(args.draws, quick=args.quick):
        print(cell, flush=True)


if __name__ == "__main__":
    main()
