"""Targeted routing: ask about what the models under test predict.

For one model the expert of the predicted option is asked, which no other routing beats. For several,
one option per item is drawn with π ∝ √(n_k s_k), a share ε spread over all options, so that the
answer serves every model, also later ones. For comparing two, only the items they disagree on are
asked about, one of the two predicted options by a coin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness import BadInput, decode, derive_seed
from harness.estimate import (
    disagreement,
    predicted_counts,
    shared_propensities,
    targeted_propensities,
    vote_posterior,
)
from harness.types import Item, Question
from protocols.routing.partitioned import draw_expert
from protocols.routing.predicted import Predictions, option_counts, predicted_matrix
from protocols.routing.rule import question_id

if TYPE_CHECKING:
    from protocols.routing.roster import Roster


@dataclass(frozen=True, slots=True)
class Targeted:
    """One question per item, its option drawn with propensities that depend on predictions.

    Parameters
    ----------
    roster
        The experts.
    predictions
        Model → item id → option from 0, None if unreadable. Fixed: other predictions are another
        protocol, and its questions have other propensities.
    seed
        Of all draws.
    epsilon
        Share of the draw that is uniform over the item's options, for several models.
    disagreements_only
        Ask only where two models differ; agreeing items cost nothing and carry no difference.
    """

    roster: Roster
    predictions: Predictions
    seed: int = 0
    epsilon: float = 0.1
    disagreements_only: bool = False
    name: str = "targeted"
    assumptions: tuple[str, ...] = (
        "the asked option was drawn with recorded propensities that depend on the predictions alone",
        "estimates weigh by the propensities; the asked option is not uniform",
        "experts answer for their own class without error; yes means it is, no means it is not",
        "abstentions are unrelated to whether the prediction is right",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise BadInput(f"epsilon must lie in [0, 1], is {self.epsilon}")
        if self.disagreements_only and len(self.predictions) != 2:
            raise BadInput(f"disagreements_only compares 2 models, predictions has {len(self.predictions)}")

    def posterior(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """The working posterior that the propensities rest on: what the models' votes say."""
        k = option_counts(items)
        return vote_posterior(predicted_matrix(items, self.predictions), k, int(k.max()))

    def propensities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Probability with which each option is asked about, shape (items, largest K).

        Rows sum to 1, or to 0 where nothing is asked: an item on which the compared models agree,
        or whose one prediction is unreadable (it is wrong whatever the truth).
        """
        predicted, k = predicted_matrix(items, self.predictions), option_counts(items)
        width = int(k.max())
        if self.disagreements_only:
            counts = predicted_counts(predicted, width) * disagreement(predicted)[:, None]
            total = counts.sum(axis=1, keepdims=True)
            pi: NDArray[np.float64] = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
            return pi
        if predicted.shape[1] == 1:
            return targeted_propensities(predicted[:, 0], width)
        votes = vote_posterior(predicted, k, width)
        return shared_propensities(predicted, k, width, posterior=votes, epsilon=self.epsilon)

    def route(self, items: Sequence[Item]) -> list[Question]:
        """Draw one option per item and an expert for it.

        Raises
        ------
        BadInput
            If a prediction is missing, or nobody (with capacity left) can judge an option drawn.
        """
        load: Counter[str] = Counter()
        questions: list[Question] = []
        if not items:
            return questions
        for item, pi in zip(items, self.propensities(items), strict=True):
            if not pi.any():
                continue
            rng = np.random.default_rng(derive_seed(self.seed, item.id))
            option = int(rng.choice(len(pi), p=pi / pi.sum()))
            expert = draw_expert(item, option, self.roster, load, rng)
            questions.append(
                Question(
                    id=question_id(self.name, self.seed, item.id, option),
                    item_id=item.id,
                    option=option,
                    expert=expert.name,
                    n_options=len(item.options),
                    protocol=self.name,
                    propensity=float(pi[option]),
                    seed=self.seed,
                    propensities=tuple(float(p) for p in pi[: len(item.options)]),
                )
            )
        return questions

    decode = staticmethod(decode)
