"""Checks of answers and of the draw against what all models of a study predict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import bdtr, ndtr

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, NO, YES, LabelColumns, PredictionColumns
from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.checks.drawn_options import DrawnOptions
from oversight.harness.estimate.core import binomial_at_least, z_of_sum
from oversight.harness.estimate.routed import vote_posterior

_NEAR = 1e-9


@dataclass(frozen=True)
class ModelVotes:
    """Predictions of all models of a study, beside the answers of its experts.

    Attributes
    ----------
    models
        The models, in any order: nothing here depends on it.
    labels
        Labels over the same items.
    """

    models: Sequence[PredictionColumns]
    labels: LabelColumns

    @cached_property
    def all_ran(self) -> BoolArray:
        """Items that every model answered, readable or not, shape (N,)."""
        found: BoolArray = np.logical_and.reduce([model.ran for model in self.models])
        return found

    def count_votes(self, item: IntArray, option: IntArray) -> IntArray:
        """Number of models that predict an option of an item, shape of `item`."""
        votes = np.zeros(item.size, np.int64)
        for model in self.models:
            votes += model.option[item] == option
        return votes

    @cached_property
    def votes(self) -> IntArray:
        """Number of models that predict the option of each label, shape (L,)."""
        return self.count_votes(self.labels.item, self.labels.option)

    @cached_property
    def is_first(self) -> BoolArray:
        """Whether a label is the first of its item, shape (L,)."""
        first = np.zeros(len(self.labels), np.bool_)
        first[np.unique(self.labels.item, return_index=True)[1]] = True
        return first

    @cached_property
    def usable(self) -> IntArray:
        """Rows whose answer says whether votes are right, in order.

        The first answer about an item if its protocol asks on, since later questions follow from answers;
        else the answer to the only question about an item.
        """
        labels = self.labels
        if labels.is_resolved:
            alone = self.is_first
        else:
            alone = np.bincount(labels.item, minlength=labels.index.size)[labels.item] == 1
        rows: IntArray = np.flatnonzero(alone & (labels.kind != ABSTAINED) & self.all_ran[labels.item])
        return rows

    @cached_property
    def lacks_models(self) -> bool:
        """Whether questions were drawn for other models, too.

        Then an option that none of these models predicts was more likely to be asked about than the least
        likely option of its item.
        """
        if self.labels.is_uniform:
            return False
        rows = self.usable[self.votes[self.usable] == 0]
        asked = self.labels.questions.take(rows)
        least = np.zeros(rows.size)
        known = np.flatnonzero(asked.offered.number)
        if known.size:
            least[known] = asked.offered.take(known).least
        return bool((asked.propensity > least + _NEAR).any())

    @cached_property
    def kappa(self) -> float:
        """Mean agreement of two models beyond chance, at most 1; 0 without two models.

        Chance is what the frequencies of the options that models predict imply, for each number of options
        (Cohen's κ over all pairs of models).
        """
        rows, count = self.usable, len(self.models)
        if count < 2 or not rows.size:
            return 0.0
        item, k = self.labels.item[rows], self.labels.questions.n_options[rows]
        agreed, chance = 0.0, 0.0
        for size in np.unique(k).tolist():
            items = item[k == size]
            votes = np.stack([self.count_votes(items, np.full(items.size, o)) for o in range(size)])
            pairs = count * (count - 1)
            agreed += float((votes * (votes - 1)).sum()) / pairs
            chance += items.size * float(((votes.sum(axis=1) / (items.size * count)) ** 2).sum())
        total = float(rows.size)
        return 0.0 if chance >= total else max(0.0, (agreed - chance) / (total - chance))

    def share_of_votes(self, rows: IntArray) -> FloatArray:
        """Share of the models that predict the option of some labels, shape of `rows`."""
        found: FloatArray = self.votes[rows] / len(self.models)
        return found

    def is_yes(self, rows: IntArray) -> BoolArray:
        """Whether the answers of some labels are yes."""
        return np.asarray(self.labels.kind[rows] == YES)

    @property
    def is_alike(self) -> bool:
        """Whether every usable answer is the same."""
        said = self.labels.kind[self.usable]
        return bool((said == NO).all() or (said == YES).all())


def routed_yes_rate(votes: ModelVotes, alpha: float) -> Check:
    """Yes is neither rarer than if models guessed, nor more frequent than the draw allows.

    Exactly one option of an item is true. So the chance of a yes is at most the greatest propensity of the
    item's options, whatever the models predict. Where questions are about predicted options, it is at least
    1/K unless models are worse than guesses. The number of yes is a sum of independent outcomes, whose tails
    are at most those of the binomial with the mean chance (Hoeffding 1956); twice the smaller one.

    Experts who say yes to everything look like those of perfect models where every question was certain to
    be asked: with one model, or where items are asked about until they are resolved.
    """
    name, rows, labels = "yes_rate", votes.usable, votes.labels
    n = rows.size
    if not n:
        return Check.not_made(name, "no item has a single answer and predictions of all models")
    yes = int(np.count_nonzero(votes.is_yes(rows)))
    least = float((1 / labels.questions.n_options[rows]).mean())
    most = _greatest_propensity(labels.take(rows))
    p_low = float(bdtr(yes, n, least)) if yes <= n * least - 1 else 1.0
    p_high = binomial_at_least(yes, n, most) if yes >= n * most + 1 else 1.0
    p = min(1.0, 2 * min(p_low, p_high))
    text = f"{yes} yes among {n} answers, expected {n * least:.1f} if models guess, at most {n * most:.1f}"
    odd = "; experts say yes to false options"
    if yes < n * least:
        odd = "; experts miss the truth, or every model is worse than guesses"
    return Check.of_test(name, yes / n, p, alpha, text, odd)


def _greatest_propensity(labels: LabelColumns) -> float:
    """Mean over labels of the greatest propensity of the item's options; 1 where it is not recorded."""
    offered = labels.questions.offered
    if labels.is_resolved or not (offered.number > 0).all():
        return 1.0
    return float(np.minimum(1.0, offered.greatest).mean())


LEAST_SLOPE = 0.1
"""Part of the association of answers with votes that independent models would show, which must be seen."""
_EVEN = 1e-6


def agreement(votes: ModelVotes, alpha: float) -> Check:
    """Experts confirm options that more models predict more often than options that fewer predict.

    One-sided score test of Σ (yes − mean) (v − mean), v the number of models that predict the option asked
    about, within each K. With one model it fails if predicted options are confirmed more rarely than others,
    beyond chance. With several it also fails if answers do not follow the votes at all, although models agree
    beyond chance: `LEAST_SLOPE` of what independent models of that agreement imply must be there.
    """
    name, rows = "agreement", votes.usable
    if not rows.size:
        return Check.not_made(name, "no item has a single answer and predictions of all models")
    if votes.is_alike:
        return Check.not_made(name, "all answers are alike")
    k, yes = votes.labels.questions.n_options[rows], votes.is_yes(rows).astype(np.float64)
    v = _centre(votes.votes[rows].astype(np.float64), k)
    if float(v @ v) < _NEAR:
        return Check.not_made(name, "as many models predict every option that was asked about")
    spread = _centre(yes, k)
    size = len(yes) - np.unique(k).size
    variance = float(v @ v) * float(spread @ spread) / max(1, size)
    seen, implied = float(v @ yes), _implied(votes, rows, v)
    z = z_of_sum(seen, LEAST_SLOPE * max(0.0, implied), variance)
    p = float(ndtr(z))
    more, fewer = (float(yes[side].mean()) if side.any() else math.nan for side in (v > 0, v <= 0))
    text = f"yes to {more:.0%} of the options with more votes of models, to {fewer:.0%} of those with fewer"
    odd = "; answers do not follow what models agree on: they may belong to other items or options"
    return Check.of_test(name, z, p, alpha, text, odd)


def _centre(values: FloatArray, k: IntArray) -> FloatArray:
    """Values less the mean of those with the same number of options."""
    which = np.unique(k, return_inverse=True)[1]
    means = np.bincount(which, values) / np.bincount(which)
    found: FloatArray = values - means[which]
    return found


def _implied(votes: ModelVotes, rows: IntArray, v: FloatArray) -> float:
    """Σ P(yes) (v − mean) for independent models that agree as often as these; 0 for one model."""
    if votes.kappa <= 0:
        return 0.0
    asked, item = votes.labels.questions.take(rows), votes.labels.item[rows]
    K = asked.n_options
    accuracy = float((1 / K + (1 - 1 / K) * math.sqrt(votes.kappa)).mean())
    predicted = np.stack([model.option[item] for model in votes.models], axis=1).astype(np.int64)
    guesses = [accuracy] * predicted.shape[1]
    posterior = vote_posterior(np.maximum(predicted, -1), K, int(K.max()), accuracy=guesses, temper=1.0)
    return float(v @ posterior[np.arange(rows.size), asked.option])


def seen_answers(
    drawn: DrawnOptions, labels: LabelColumns, others: Sequence[PredictionColumns], alpha: float
) -> Check:
    """A uniform draw is unrelated to how far other models support a model's predictions.

    The draw knows neither predictions nor truth, so asking about ŷ and hearing yes have probability 1/K each,
    whatever the models predict. A model that has seen answers follows confirmed options, which others predict
    as well, and leaves refuted ones, which fewer predict. One-sided z-test of
    Σ g (1{asked = ŷ} + 1{yes} − 2/K), g the number of other models that predict ŷ less that of their
    favourite, centred.

    With one model nothing shows it. With several it shows in large studies only.
    """
    name = "seen_answers"
    if not others:
        return Check.not_made(
            name, "no other model to compare with; assumes that the model has seen none of the answers"
        )
    ran = np.logical_and.reduce([model.ran[drawn.asked.item] for model in others])
    even = np.abs(drawn.asked.propensity * drawn.asked.n_options - 1) < _EVEN
    one = drawn.take(np.flatnonzero(ran & even & (drawn.predicted >= 0)))
    if not len(one):
        return Check.not_made(name, "no item with one uniformly drawn question has predictions of all models")
    pi, hit = 1 / one.asked.n_options, one.is_hit
    support = _support(one, others)
    g = support - support.mean()
    score = hit - pi + _excess_of_yes(one, labels)
    variance = float((g**2) @ score**2)
    if variance < _NEAR:
        return Check.not_made(name, "as many other models share every prediction")
    z = z_of_sum(float(g @ score), 0.0, variance)
    p = float(ndtr(-z))
    shared, alone = (int(np.count_nonzero(hit & side)) for side in (g > 0, g <= 0))
    expected = float(pi[g > 0].sum()), float(pi[g <= 0].sum())
    text = (
        f"predictions that more models share were asked about {shared} times, expected {expected[0]:.1f}; "
        f"those that fewer share {alone} times, expected {expected[1]:.1f}"
    )
    odd = "; this model, or one it is compared with, may have seen the experts' answers"
    return Check.of_test(name, z, p, alpha, text, odd)


def _support(drawn: DrawnOptions, others: Sequence[PredictionColumns]) -> FloatArray:
    """How many other models predict ŷ, less how many predict their favourite; shape (n,)."""
    n = len(drawn)
    width = int(drawn.asked.n_options.max(initial=2))
    votes = np.zeros((n, width + 1), np.int64)
    for model in others:
        votes[np.arange(n), np.clip(model.option[drawn.asked.item], -1, width - 1)] += 1
    own = votes[np.arange(n), drawn.predicted]
    found: FloatArray = (own - votes[:, :width].max(axis=1, initial=0)).astype(np.float64)
    return found


def _excess_of_yes(drawn: DrawnOptions, labels: LabelColumns) -> FloatArray:
    """1{yes} − 1/K of items that were answered, else 0; shape (n,)."""
    said = np.full(labels.index.size, ABSTAINED)
    said[labels.item] = labels.kind
    kind = said[drawn.asked.item]
    found: FloatArray = np.where(kind == ABSTAINED, 0.0, (kind == YES) - 1 / drawn.asked.n_options)
    return found
