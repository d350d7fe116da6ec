"""Studies whose experts leave questions open because of their answers, or answer easy ones first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oversight import harness as h
from oversight.harness.types import Answer, Item, Labels, Prediction, Question, Verdict
from oversight.protocols.routing import Disagreement, Partitioned, Targeted, one_expert_per_class, order_queue

CLASSES = ("a", "b", "c", "d")
ROSTER = one_expert_per_class(CLASSES)
HARD = 0.4
"""Share of hard items. A model is right on .4 of them and on .9 of the others."""
ACCURACY = HARD * 0.4 + (1 - HARD) * 0.9
"""Accuracy of every model. The second is equally often right on hard items."""
MODELS = {"partitioned": 2, "targeted": 3, "targeted for one": 1, "disagreement": 2}
"""Number of models by protocol; those of partitioned questions do not decide what is asked."""


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """Pattern of the questions that experts leave open.

    Attributes
    ----------
    share
        Share of every expert's questions that remains open.
    telling
        Whether these are the ones whose answers contradict the first model; otherwise the hardest.
    known
        Whether the order of asking is stored.
    easy_first
        Whether experts answer by difficulty; otherwise in the order of asking.
    """

    share: float = 0.0
    telling: bool = False
    known: bool = True
    easy_first: bool = False

    def __str__(self) -> str:
        """Describe which questions are left open, and in which order experts answer."""
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
        """Return every expert's questions in the order of asking."""
        found = defaultdict[str, list[Question]](list)
        for question in self.questions:
            found[question.expert].append(question)
        return [[q for q in order_queue(own) if isinstance(q, Question)] for own in found.values()]

    def speaks_against(self, question: Question) -> bool:
        """Whether the answer contradicts the first model."""
        is_predicted = self.said["m0"][question.item_id] == question.option
        return bool(is_predicted != (self.truth[question.item_id] == question.option))

    def collect(self, gaps: Gaps, part: float = 1.0) -> Labels:
        """Return labels of the first part of every expert's work."""
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
        """Return questions in an expert's order, None for one that remains open."""
        hardest = sorted(queue, key=lambda q: self.ease[q.item_id])
        order = hardest[::-1] if gaps.easy_first else queue
        first = [q for q in queue if self.speaks_against(q)] if gaps.telling else hardest
        open_ = {q.id for q in first[: round(gaps.share * len(queue))]}
        return [None if q.id in open_ else q for q in order]
