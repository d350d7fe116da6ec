"""Measure intervals and gates when unanswered questions are not missing at random.

In some designs, each expert leaves the hardest questions unanswered, on which models are wrong more often. In
others, each expert leaves those unanswered whose answers would contradict the model, or answers easy
questions first. Only intervals with `holds` true are counted, except those of the ``worst_case`` row, which
must cover in every case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import oversight as ov
from benchmarks._coverage_kinds import Cell, Outcome, compare_ends, join_outcomes, measure_all
from benchmarks._simulation import Options, make_rule
from oversight.harness import EstimateError
from oversight.harness.estimate import PASS, gate_accuracy, gate_difference
from oversight.harness.types import Answer, Item, Labels, Prediction, Question, Verdict
from oversight.protocols.routing import one_expert_per_class, order_queue

CLASSES = ("a", "b", "c", "d")
ROSTER = one_expert_per_class(CLASSES)
HARD = 0.4
"""Share of hard items. Models have accuracy .4 on hard items and .9 on the others."""
ACCURACY = HARD * 0.4 + (1 - HARD) * 0.9
"""Accuracy of every model. The second model has this accuracy on hard and on easy items."""
MODELS = {"partitioned": 2, "targeted": 3, "targeted for one": 1, "disagreement": 2}
"""Number of models by protocol; partitioned questions do not depend on the models."""


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """Pattern of the questions that experts leave unanswered.

    Attributes
    ----------
    share
        Share of every expert's questions that stays unanswered.
    telling
        Whether the unanswered questions are those whose answers contradict the first model, instead of the
        hardest questions.
    known
        Whether the order of the queues is stored.
    easy_first
        Whether experts answer the easiest questions first, instead of following their queues.
    """

    share: float = 0.0
    telling: bool = False
    known: bool = True
    easy_first: bool = False

    def __str__(self) -> str:
        """Return a text on which questions stay unanswered, and in which order experts answer."""
        which = "that speak against the model" if self.telling else "that are hardest"
        order = "easy first" if self.easy_first else "in order" if self.known else "in unknown order"
        return f"{self.share:.0%} open {which}, {order}" if self.share else order


class GapStudy:
    """A simulated study: items, the models of `MODELS`, and questions drawn by a protocol."""

    def __init__(self, protocol: str, n: int, seed: int) -> None:
        rng = np.random.default_rng([seed, n])
        self.items = [Item(f"{seed}-{j}", "?", CLASSES, (0, 1, 2, 3)) for j in range(n)]
        y, ease = rng.integers(0, 4, n), rng.random(n)
        rate = np.where(ease < HARD, 0.4, 0.9)
        names = [item.id for item in self.items]
        self.truth = dict(zip(names, y.tolist(), strict=True))
        self.ease = dict(zip(names, ease.tolist(), strict=True))
        self.said: dict[str, Options] = {}
        for j in range(MODELS[protocol]):
            right = rng.random(n) < (ACCURACY if j == 1 else rate)
            options = np.where(right, y, (y + rng.integers(1, 4, n)) % 4)
            self.said[f"m{j}"] = dict(zip(names, options.tolist(), strict=True))
        self.models = {
            model: [Prediction(name, option) for name, option in said.items()]
            for model, said in self.said.items()
        }
        self.for_difference = protocol == "disagreement"
        rule = make_rule(protocol.removesuffix(" for one"), ROSTER, self.said, seed)
        self.questions: list[Question] = rule.route(self.items)

    @cached_property
    def queues(self) -> list[list[Question]]:
        """Questions of every expert, in the order of the expert's queue."""
        found = defaultdict[str, list[Question]](list)
        for question in self.questions:
            found[question.expert].append(question)
        return [[q for q in order_queue(own) if isinstance(q, Question)] for own in found.values()]

    def speaks_against(self, question: Question) -> bool:
        """Return whether the answer to a question contradicts the first model."""
        is_predicted = self.said["m0"][question.item_id] == question.option
        return bool(is_predicted != (self.truth[question.item_id] == question.option))

    def collect(self, gaps: Gaps, part: float = 1.0) -> Labels:
        """Return the labels after every expert has worked on this share of the queue, from 0 to 1."""
        verdicts = (Verdict.NO, Verdict.YES)
        answers = [
            Answer(q, q.expert, verdicts[self.truth[q.item_id] == q.option], "simulated")
            for queue in self.queues
            for q in self._work(queue, gaps)[: max(1, round(part * len(queue)))]
            if q is not None
        ]
        if gaps.known:
            return ov.decode(answers, self.questions)
        blank = {q.id: replace(q, place=None) for q in self.questions}
        return ov.decode([replace(a, question=blank[a.question.id]) for a in answers], list(blank.values()))

    def _work(self, queue: list[Question], gaps: Gaps) -> list[Question | None]:
        """Return an expert's questions in the order of work; None for each that stays unanswered."""
        hardest = sorted(queue, key=lambda q: self.ease[q.item_id])
        order = hardest[::-1] if gaps.easy_first else queue
        first = [q for q in queue if self.speaks_against(q)] if gaps.telling else hardest
        open_ = {q.id for q in first[: round(gaps.share * len(queue))]}
        return [None if q.id in open_ else q for q in order]


LOOKS = 10
AGAIN = 5


def see_accuracies(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Outcome]]:
    """Check the first model's main accuracy and, if it exists, the worst-case interval."""
    found: dict[str, Any] = {}
    with suppress(EstimateError):
        found = ov.accuracies(study.models["m0"], study.collect(gaps))
    yield "accuracy", compare_ends(ACCURACY, found.get("ml") or found.get("routed"))
    if "worst_case" in found:
        yield "worst_case", replace(compare_ends(ACCURACY, found["worst_case"]), holds=True)


def see_difference(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Outcome]]:
    """Check the difference of the first two models by `oversight.compare`."""
    pair = None
    with suppress(EstimateError):
        (pair,) = ov.compare({m: study.models[m] for m in ("m0", "m1")}, study.collect(gaps)).pairs
    yield "difference", compare_ends(0.0, pair)


def see_anytime(study: GapStudy, gaps: Gaps) -> Iterator[tuple[str, Outcome]]:
    """Check the anytime interval at ten interim analyses; all intervals with `holds` true must cover."""
    seen = []
    for look in range(1, LOOKS + 1):
        with suppress(EstimateError):
            found = ov.accuracy(study.models["m0"], study.collect(gaps, look / LOOKS), interval="anytime")
            seen += [compare_ends(ACCURACY, found)] if found.holds else []
    yield "anytime", join_outcomes(seen)


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


def measure_watch(watch: Watch, draws: int, seed: int = 1) -> list[tuple[Gaps, Cell]]:
    """Draw studies, and count the outcomes of each result for each pattern of unanswered questions."""
    seen = defaultdict[tuple[Gaps, str], list[Outcome]](list)
    for draw in range(draws):
        study = GapStudy(watch.protocol, watch.n, 1_000_000 * seed + draw)
        for gaps in watch.gaps:
            for name, each in watch.see(study, gaps):
                seen[gaps, name].append(each)
    design = f"{watch.protocol}, n={watch.n}"
    return [(gaps, Cell.of(f"{name}: {design}, {gaps}", each)) for (gaps, name), each in seen.items()]


HARDEST = tuple(Gaps(share=share, known=known) for share in (0.04, 0.15, 0.3) for known in (True, False))
TELLING = tuple(Gaps(share=share, telling=True) for share in (0.02, 0.1))
EASY_FIRST = (Gaps(easy_first=True), Gaps(easy_first=True, known=False))
ORDERS = (*EASY_FIRST, Gaps(), Gaps(share=0.15), Gaps(share=0.3))


def make_watches(*, quick: bool) -> list[Watch]:
    """Return all designs: for intervals, patterns of unanswered questions; for gates, orders of answers."""
    whole = ("partitioned", "targeted for one", "targeted")
    compared = ("disagreement", "partitioned", "targeted")
    gaps, orders = (HARDEST + TELLING)[:: 3 if quick else 1], ORDERS[:: 3 if quick else 1]
    found = []
    for n in (100,) if quick else (60, 200):
        found += [Watch(protocol=p, see=see_accuracies, gaps=gaps, n=n) for p in whole]
        found += [Watch(protocol=p, see=see_difference, gaps=gaps, n=n) for p in compared]
        found += [Watch(protocol=p, see=see_anytime, gaps=gaps, n=n) for p in whole[:2]]
        found += [Watch(protocol=p, see=see_gates, gaps=orders, n=n) for p in ("disagreement", *whole)]
    return found


def _measure_twice(task: tuple[Watch, int]) -> list[Cell]:
    """Measure one design, with all its patterns of unanswered questions.

    Patterns with low coverage are measured again with `AGAIN` times as many draws.
    """
    watch, draws = task
    measured = measure_watch(watch, draws)
    bad = tuple(dict.fromkeys(gaps for gaps, cell in measured if cell.low))
    again = measure_watch(replace(watch, gaps=bad), AGAIN * draws, seed=2) if bad else []
    return [cell for gaps, cell in measured if gaps not in bad] + [cell for _, cell in again]


def measure_gaps(draws: int, *, quick: bool = False) -> list[Cell]:
    """Measure all designs, and print each result when it is known."""
    watches = make_watches(quick=quick)[:: 2 if quick else 1]
    return measure_all(_measure_twice, [(watch, draws) for watch in watches])
