"""Simulated experts who answer from a sealed key with given error and abstention rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from oversight.harness import BadInput, check_mapping, derive_seed
from oversight.harness.types import Answer, Question, Verdict
from oversight.protocols.routing import plain_id


@dataclass(frozen=True, slots=True)
class SimulatedExperts:
    """Experts with known sensitivity, specificity and abstention rate.

    Parameters
    ----------
    truth
        The sealed key: item id → true option (source order, from 0).
    sensitivity
        P(yes | the option is true), in [0, 1].
    specificity
        P(no | the option is false), in [0, 1].
    abstention
        P(unsure), in [0, 1), independent of the truth.
    seed
        Seed of all draws; an answer depends on the seed, protocol, item and option of its question.

    Raises
    ------
    BadInput
        If a rate is out of range.
    """

    truth: Mapping[str, int]
    sensitivity: float = 1.0
    specificity: float = 1.0
    abstention: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_mapping("truth", self.truth, "item id to option")
        for name in ("sensitivity", "specificity", "abstention"):
            rate = getattr(self, name)
            if not 0 <= rate <= 1 or (name == "abstention" and rate == 1):
                raise BadInput(f"{name} must be a probability, is {rate}")

    def answer(self, questions: Iterable[Question]) -> list[Answer]:
        """Answer every question.

        Raises
        ------
        BadInput
            If the answer key lacks an item.
        """
        return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Answer:
        if question.item_id not in self.truth:
            raise BadInput(f"the answer key has no true option for the item {question.item_id!r}")
        abstains, errs = np.random.default_rng(derive_seed(self.seed, plain_id(question))).random(2)
        if abstains < self.abstention:
            verdict = Verdict.UNSURE
        else:
            is_true = self.truth[question.item_id] == question.option
            right = errs < (self.sensitivity if is_true else self.specificity)
            verdict = Verdict.YES if is_true == right else Verdict.NO
        return Answer(question, question.expert, verdict, source="simulated")
