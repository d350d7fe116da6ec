"""What a pilot knows about one model: answered items, what all models say of them, and what is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from oversight.harness.arrays import UNKNOWN, FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.item_draws import guess_right, split_by_agreement
from oversight.harness.estimate.judged import JudgeOpinion
from oversight.harness.estimate.planning.sample_size import PARTITIONED, SEQUENTIAL, TARGETED
from oversight.harness.estimate.routed import (
    RoutedSample,
    accuracy_target,
    flat_posterior,
    propensities_for,
    pseudo_outcomes,
    questions_asked,
    resolved_correctness,
    routed_pool,
    settled_sample,
    targeted_propensities,
    vote_posterior,
)


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


_MOST_DRAWN = 240
"""Items drawn from which on strata get no finer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PilotStudy:
    """A study with its answers so far, as a pilot of another.

    Attributes
    ----------
    models, judges
        Predictions by name over one index.
    labels
        Of the pilot, over the same.
    voters
        All models that vote.
    asked_for
        Names of the models whose predictions the planned study looks at.
    protocol
        Of the planned study.
    epsilon
        Uniform share of targeted propensities for several models.
    n_options
        Shape (N,): K of every item; None if labels are all that is known.
    """

    models: Mapping[str, PredictionColumns]
    judges: Mapping[str, PredictionColumns]
    labels: LabelColumns
    voters: Mapping[str, PredictionColumns]
    asked_for: Sequence[str]
    protocol: str
    epsilon: float = 0.1
    n_options: IntArray | None = None
    _strata: dict[tuple[bytes, int], tuple[FloatArray, IntArray]] = field(default_factory=dict)

    def gather(self, name: str) -> tuple[PilotAnswers, IntArray, float]:
        """What the pilot knows of a model, places of its items, and the share of questions answered.

        Raises
        ------
        EstimateError
            If there are no answers about the model's items.
        NotIdentified
            If items have several questions, or the planned study does not ask about this model.
        """
        if self.protocol == SEQUENTIAL and name not in self.asked_for:
            raise NotIdentified(f"{SEQUENTIAL} questions are about the predictions of other models")
        predictions = _keep_pilot(self.models[name], self.labels)
        if self.labels.is_resolved:
            data, option, items, cost = self._read_resolved(predictions)
            share = 1.0
        else:
            data, option, items, share = self._read_routed(predictions)
            cost = None
        seen = np.stack([np.maximum(p.option[items], -1) for p in self.voters.values()], axis=1)
        looked_at = _columns([self.voters[n] for n in self.asked_for], items)
        planned, price = self._draw(option, looked_at, data.n_options, data.propensities.shape[1])
        pilot = PilotAnswers(
            option=option,
            votes=seen.astype(np.int64),
            judges=tuple(JudgeOpinion.of(judge).take(items) for judge in self.judges.values()),
            data=data,
            planned=planned,
            cost=price if cost is None else cost[:, None] * np.ones_like(price),
        )
        return pilot, items, share

    def _read_routed(self, predictions: PredictionColumns) -> tuple[RoutedSample, IntArray, IntArray, float]:
        part, _ = collected_part(self.labels, predictions.is_there)
        data, predicted, items = routed_pool(part, [predictions])
        if np.bincount(data.item).max() > 1:
            raise NotIdentified("items have several questions, and a plan takes one an item")
        kinds = part.kind[predictions.ran[part.item]]
        return data, predicted[:, 0].astype(np.int64), items, float((kinds != ABSTAINED).mean())

    def _read_resolved(
        self, predictions: PredictionColumns
    ) -> tuple[RoutedSample, IntArray, IntArray, FloatArray]:
        """Items known right or wrong, as if their prediction had been asked about; and questions of each."""
        found = resolved_correctness(self.labels, [predictions])
        known = np.flatnonzero(found.correct[:, 0] != UNKNOWN)
        items, right = found.items[known], found.correct[known, 0]
        option = predictions.option[items].astype(np.int64)
        n_options = np.zeros(self.labels.index.size, np.int64)
        n_options[self.labels.places] = self.labels.n_options
        width = max(int(n_options.max()), 2)
        data = settled_sample(option, right, np.where(n_options[items] > 0, n_options[items], width))
        cost = np.bincount(self.labels.item, minlength=self.labels.index.size)[items]
        return data, option, items, cost.astype(np.float64)

    def _draw(
        self, option: IntArray, looked_at: IntArray, n_options: IntArray, width: int
    ) -> tuple[FloatArray, FloatArray]:
        """Planned propensities, and what an item costs by its truth; shape (n, K) each."""
        if self.protocol == PARTITIONED:
            return flat_posterior(n_options, width), np.ones((len(option), width))
        if self.protocol == TARGETED:
            drawn = propensities_for(looked_at, n_options, width, epsilon=self.epsilon)
            return drawn, np.tile(drawn.sum(axis=1, keepdims=True), width)
        guesses = np.full(looked_at.shape[1], 0.5)
        votes = vote_posterior(looked_at, n_options, width, accuracy=guesses)
        price = [questions_asked(looked_at, votes, np.full(len(option), k), n_options) for k in range(width)]
        return targeted_propensities(option, width), np.stack(price, axis=1).astype(np.float64)

    @property
    def is_silent(self) -> bool:
        """Whether experts did not say of some questions."""
        return bool((self.labels.kind == ABSTAINED).any())

    def pool_size(self, name: str) -> int:
        """Number of items that more could be drawn from: those that the model was asked about."""
        return len(self.models[name])

    def add_strata(self, pilot: PilotAnswers, name: str, items: IntArray, drawn: int) -> PilotAnswers:
        """The pilot's items with the mean guess of the strata that so many items would be drawn from.

        Raises
        ------
        NotIdentified
            If how many options other items have is not known.
        """
        there, names = self.models[name].is_there, list(self.voters)
        key = (there.tobytes(), min(drawn, _MOST_DRAWN))
        places = np.flatnonzero(there)
        if key not in self._strata:
            votes = _columns(list(self.voters.values()), places)
            right = guess_right(votes, self._know_options()[places])
            looked_at = [names.index(n) for n in self.asked_for]
            self._strata[key] = right, split_by_agreement(right[:, looked_at], key[1])
        right, number = self._strata[key]
        own = np.bincount(number, right[:, names.index(name)]) / np.maximum(np.bincount(number), 1)
        guess = np.full(self.labels.index.size, np.nan)
        guess[places] = own[number]
        return replace(pilot, guess=guess[items])

    def _know_options(self) -> IntArray:
        if self.n_options is not None:
            return self.n_options
        said = self.labels.n_options
        if not said.size or np.ptp(said) > 0:
            raise NotIdentified("how many options items without a question have is not known")
        return np.full(self.labels.index.size, int(said[0]))


def _keep_pilot(predictions: PredictionColumns, labels: LabelColumns) -> PredictionColumns:
    """Predictions on the pilot's items: those drawn from a pool, else those asked about.

    Of items that need no question, their prediction being unreadable, as large a part as of the others.
    """
    if labels.pool is not None:
        return keep_drawn(predictions, labels)
    asked, none = labels.asked_items, predictions.is_unreadable
    settled = np.flatnonzero(none & ~asked)
    put, others = np.count_nonzero(asked), np.count_nonzero(predictions.ran & ~(none & ~asked))
    kept = asked.copy()
    kept[settled[: round(settled.size * put / max(1, others))]] = True
    return predictions.on(kept)


def _columns(models: Sequence[PredictionColumns], items: IntArray) -> IntArray:
    """Options of models, shape (n, M), −1 where a model names none."""
    votes: IntArray = np.stack([np.maximum(m.option[items], -1) for m in models], axis=1).astype(np.int64)
    return votes
