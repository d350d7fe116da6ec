"""What a pilot knows about one model: answered items, what all models say of them, and what is planned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.judged import JudgeOpinion
from oversight.harness.estimate.routed import RoutedSample, accuracy_target, pseudo_outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotAnswers:
    """One model's n answered items of a pilot, and the draw that is planned for more like them.

    Attributes
    ----------
    option
        Shape (n,): the model's prediction, −1 for unreadable.
    votes
        Shape (n, M): what all models answer, the model among them.
    judges
        What judges say of the items.
    data
        The pilot's answers.
    planned
        Shape (n, K): propensities of the options in the study that is planned; the model's own option for
        certain where items are asked about until they are resolved.
    cost
        Shape (n, K): questions an item takes if the truth is k.
    guess
        Shape (n,): mean guess, over the item's stratum of the pool, that the model is right; None where
        items are not drawn from a pool.
    """

    option: IntArray
    votes: IntArray
    judges: tuple[JudgeOpinion, ...]
    data: RoutedSample
    planned: FloatArray
    cost: FloatArray
    guess: FloatArray | None = None

    @property
    def target(self) -> FloatArray:
        """What makes a mean the model's accuracy: 1 at its prediction, else 0; shape (n, K)."""
        return accuracy_target(self.option, self.data.propensities.shape[1])

    @property
    def settles(self) -> bool:
        """Whether every planned question settles the model's prediction."""
        rows = np.flatnonzero(self.option >= 0)
        return bool((self.planned[rows, self.option[rows]] > 1 - 1e-9).all())

    def take(self, items: IntArray) -> PilotAnswers:
        """Some of the items."""
        return replace(
            self,
            option=self.option[items],
            votes=self.votes[items],
            judges=tuple(judge.take(items) for judge in self.judges),
            data=self.data.take(items),
            planned=self.planned[items],
            cost=self.cost[items],
            guess=None if self.guess is None else self.guess[items],
        )

    def each_mean(self, values: FloatArray, working: FloatArray) -> FloatArray:
        """Outcomes, shape (n,), whose mean estimates that of what values, shape (n, K), hold at the truth.

        The working distribution, of the same shape, makes it more exact, and need not be right.

        Raises
        ------
        NotIdentified
            If the pilot never asked about options that values tell apart.
        """
        return pseudo_outcomes(values, replace(self.data, posterior=working))
