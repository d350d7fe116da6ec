"""Targeted routing: ask about the options that the tested models predict.

For one model, the expert of the predicted option is asked, which is optimal. For several models, one option k
per item is drawn with a propensity proportional to √(n_k s_k). Here n_k is the number of models that predict
option k, p_k is the probability that option k is true, and s_k = p_k(1 − p_k). A share ε of the propensity is
spread over all options, so that the answers can also be used for models added later. To compare two models,
`Disagreement` asks only about items on which they differ, and draws one of the two predicted options at
random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from oversight.harness import BadInput, check_mapping, derive_seed, name_protocol
from oversight.harness.config import Study
from oversight.harness.estimate import (
    ROUTED_ASSUMPTIONS,
    decode,
    disagreement,
    predicted_counts,
    propensities_for,
    vote_posterior,
)
from oversight.harness.types import Item, ProtocolStatement, Question
from oversight.protocols.routing.partitioned import FreeExperts
from oversight.protocols.routing.roster import Roster
from oversight.protocols.routing.routing_protocol import (
    OptionProbabilities,
    Predictions,
    multiply_by_judges,
    option_counts,
    predicted_matrix,
    put_question,
)


@dataclass(frozen=True, slots=True)
class Targeted:
    """One question per item, with propensities that depend on predictions.

    Parameters
    ----------
    roster
        The experts.
    predictions
        Model → item id → option from 0, None if unreadable. Other predictions lead to other propensities.
    seed
        Seed of all draws.
    epsilon
        Share of the propensity that is spread evenly over the item's options; ignored if there is only one
        model.
    judge_probabilities
        Item id → judges' probability of each option; empty without judges. A wrong judge makes estimates less
        precise, but not invalid: propensities are recorded, and bounded from below if `epsilon` is above 0.
    """

    roster: Roster
    predictions: Predictions
    seed: int = 0
    epsilon: float = 0.1
    judge_probabilities: OptionProbabilities = field(default_factory=dict)
    name: str = name_protocol("Targeted")
    statement: ClassVar = ProtocolStatement(
        estimator="weighted",
        assumptions=ROUTED_ASSUMPTIONS,
        checks=(
            "yes_rate",
            "yes_rate_by_expert",
            "agreement",
            "propensities",
            "routed_for",
            "abstention",
        ),
        needs=frozenset({"roster", "predictions"}),
        answers=frozenset({"accuracy", "difference"}),
    )

    def __post_init__(self) -> None:
        check_mapping("predictions", self.predictions, "model to its options by item id")
        if not 0 <= self.epsilon <= 1:
            raise BadInput(f"epsilon must be in [0, 1], is {self.epsilon}")

    @classmethod
    def from_study(cls, study: Study, roster: Roster, predictions: Predictions) -> Self:
        """Create the rule from study.toml."""
        return cls(roster, predictions, study.study.seed, study.experts.epsilon)

    def posterior(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return each option's probability of being true, given models' votes and judges' probabilities."""
        k = option_counts(items)
        votes = vote_posterior(predicted_matrix(items, self.predictions), k, int(k.max()))
        return multiply_by_judges(votes, items, self.judge_probabilities)

    def propensities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return the probability with which each option is asked about, shape (items, largest K).

        A row sums to 1, or to 0 if nothing is asked about the item. Nothing is asked if there is only one
        model and its prediction is unreadable, because an unreadable prediction always counts as wrong.
        """
        predicted, k = predicted_matrix(items, self.predictions), option_counts(items)
        alone = predicted.shape[1] == 1
        posterior = None if alone else self.posterior(items)
        return propensities_for(predicted, k, int(k.max()), epsilon=self.epsilon, posterior=posterior)

    def route(self, items: Sequence[Item]) -> list[Question]:
        """Draw one option per item and an expert for it.

        Raises
        ------
        BadInput
            If a prediction is missing, or nobody with capacity left can judge a drawn option.
        """
        free = FreeExperts(self.roster)
        questions: list[Question] = []
        if not items:
            return questions
        for item, pi in zip(items, self.propensities(items), strict=True):
            if not pi.any():
                continue
            rng = np.random.default_rng(derive_seed(self.seed, item.id))
            option = int(rng.choice(len(pi), p=pi / pi.sum()))
            expert = free.draw(item, option, rng.integers)
            each = tuple(float(p) for p in pi[: len(item.options)])
            questions.append(put_question(self, item, option, expert, each[option], each))
        return questions

    decode = staticmethod(decode)


@dataclass(frozen=True, slots=True)
class Disagreement(Targeted):
    """Comparison of two models that asks only about items on which they differ.

    Items on which the models agree need no question and do not affect the difference. The accuracy of
    either model alone cannot be estimated.
    """

    name: str = name_protocol("Disagreement")
    statement: ClassVar = replace(
        Targeted.statement,
        checks=("yes_rate", "yes_rate_by_expert", "coin"),
        answers=frozenset({"difference"}),
    )

    def __post_init__(self) -> None:
        Targeted.__post_init__(self)
        if len(self.predictions) != 2:
            raise BadInput(
                f"the protocol 'disagreement' compares 2 models, not {len(self.predictions)}; name two under "
                '[experts], for example models = ["a", "b"]'
            )

    def propensities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return equal probabilities for the predicted options; an item's row is 0 if the models agree."""
        predicted = predicted_matrix(items, self.predictions)
        counts = predicted_counts(predicted, int(option_counts(items).max()))
        counts *= disagreement(predicted)[:, None]
        total = counts.sum(axis=1, keepdims=True)
        pi: NDArray[np.float64] = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        return pi
