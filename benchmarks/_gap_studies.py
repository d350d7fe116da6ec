"""Simulated studies in which unanswered questions are not a random subset, or easy questions come first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import oversight as ov
from oversight.harness.types import Answer, Item, Labels, Prediction, Question, Verdict
from oversight.protocols.routing import Disagreement, Partitioned, Targeted, one_expert_per_class, order_queue

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
        answers = [
            Answer(q, q.expert, self._judge(q), "simulated")
            for queue in self.queues
            for q in self._work(queue, gaps)[: max(1, round(part * len(queue)))]
            if q is not None
        ]
        if gaps.known:
            return ov.decode(answers, self.questions)
        blank = {q.id: replace(q, place=None) for q in self.questions}
        return ov.decode([replace(a, question=blank[a.question.id]) for a in answers], list(blank.values()))

    def _judge(self, question: Question) -> Verdict:
        return Verdict.YES if self.truth[question.item_id] == question.option else Verdict.NO

    def _work(self, queue: list[Question], gaps: Gaps) -> list[Question | None]:
        """Return an expert's questions in the order of work; None for each that stays unanswered."""
        hardest = sorted(queue, key=lambda q: self.ease[q.item_id])
        order = hardest[::-1] if gaps.easy_first else queue
        first = [q for q in queue if self.speaks_against(q)] if gaps.telling else hardest
        open_ = {q.id for q in first[: round(gaps.share * len(queue))]}
        return [None if q.id in open_ else q for q in order]
