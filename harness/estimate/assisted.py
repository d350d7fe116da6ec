"""Accuracies with the answers of all models as side information: no question more, and no answer is believed.

What other models answer to an item says which options are likely, before an expert is asked. It enters the
score interval (`oversight.harness.estimate.intervals.tilting`) as the working distribution q of every item:
the posterior that the votes give where each model is as good as the *other* folds' answers say
(cross-fitting, `weigh_votes`), a twentieth of it made flat. E U = 0 for every q that does not look at the
item's own answer, so votes that mislead cost width, never validity; good ones narrow the interval. In survey
statistics such an estimator is called model-assisted (Särndal, Swensson & Wretman 1992).

It is an estimate beside the one that a protocol gives, never in its place: runs that are added later change
it, and may not change a number that was reported before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.by_design import enough_clusters, find_drawn_strata, find_weights
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.data import Estimates, find_unequal
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.routed import (
    RoutedSample,
    routed_accuracy,
    routed_pool,
    unequal_accuracy,
    weigh_votes,
)
from oversight.harness.types import Estimate, Note, NoteKind

ASSISTED = "assisted"
LARGEST = 20_000
"""Answers up to which it is made: no two items have the same votes, so it looks at each for every model."""
_MAIN = ("routed", "ml")
"""The estimates that protocols give of one model, beside which this one stands."""


def assist(
    models: Mapping[str, PredictionColumns],
    labels: LabelColumns,
    found: Mapping[str, Estimates],
    *,
    level: float,
) -> dict[str, Estimates]:
    """Add to models' estimates the one that all models' votes assist.

    Parameters
    ----------
    models
        All models that answered items of the study, by name.
    found
        Estimates to add it to, by name of the model; where the protocol's own is missing nothing is added.
    level
        Confidence level of each.

    Returns
    -------
    dict
        `found` with an estimate named ``assisted``, or the reason why there is none; unchanged where votes
        have nothing to say: of one model, of resolved items, of predictions asked about for certain.
    """
    if not _are_of_use(len(models), labels):
        return dict(found)
    drawn = {name: keep_drawn(predictions, labels) for name, predictions in models.items()}
    labels = replace(labels, models=tuple(drawn.values()))  # checks hold answers against all models
    votes, made = _Votes(drawn), dict(found)
    for name, estimates in found.items():
        main = next(filter(estimates.get, _MAIN), None)
        if main is None:
            continue
        try:
            assisted = votes.estimate(name, labels, level)
        except EstimateError as error:
            made[name] = _withhold(estimates, str(error))
            continue
        if assisted is not None:
            made[name] = Estimates(
                {**estimates, ASSISTED: _tell_worth(estimates[main], assisted)}, estimates.undefined
            )
    return made


def withhold_assisted(
    models: int, labels: LabelColumns, found: Mapping[str, Estimates], why: str
) -> dict[str, Estimates]:
    """Say of every model why its assisted estimate was not made, where `assist` would have made one."""
    if not _are_of_use(models, labels):
        return dict(found)
    return {name: _withhold(made, why) if any(map(made.get, _MAIN)) else made for name, made in found.items()}


def refuse_votes(
    labels: LabelColumns, *, strata: bool, interval: str | None, published: bool, what: str = "votes are"
) -> str:
    """Why votes, or `what` else, are not used with these labels and options; empty where they are."""
    given = {
        f"more than {LARGEST:,} answers": len(labels) > LARGEST,
        "strata": strata,
        f"interval {interval!r}": interval not in (None, "exact", "anytime"),
        "published": published,
    }
    ignored = [name for name, is_given in given.items() if is_given]
    return f"{what} not used together with {', '.join(ignored)}" if ignored else ""


def _are_of_use(models: int, labels: LabelColumns) -> bool:
    return models > 1 and not labels.is_resolved and labels.tells_accuracy


def _withhold(estimates: Estimates, why: str) -> Estimates:
    return Estimates(estimates, {**estimates.undefined, ASSISTED: why})


class _Votes:
    """The votes of models, and what they say of items, worked out once for models with the same items."""

    def __init__(self, models: Mapping[str, PredictionColumns]) -> None:
        self._models = models
        self._working = dict[bytes, FloatArray]()

    def estimate(self, name: str, labels: LabelColumns, level: float) -> Estimate | None:
        """A model's accuracy; None where every answer is about its prediction and settles it."""
        predictions = self._models[name]
        part, notes = collected_part(labels, predictions.is_there)
        data, predicted, items = routed_pool(part, [predictions], unequal=True)
        if np.bincount(data.item).max() > 1:
            raise NotIdentified("items have several questions, and votes are used with one")
        if (unequal := find_unequal(part, predictions.is_there)) is not None:
            data = unequal.tilt(data)
        option = predicted[:, 0].astype(np.int64)
        rows = np.flatnonzero(option >= 0)
        if (data.propensities[rows, option[rows]] > 1 - 1e-9).all():
            return None
        cluster, weight = enough_clusters(items, labels.index, labels.cluster), find_weights(items, labels)
        given: dict[str, Any] = {"level": level, "cluster": cluster, "working": self._weigh(data, items)}
        if weight is not None:
            estimate = unequal_accuracy(option, data, weight, **given)
        else:
            estimate = routed_accuracy(option, data, strata=find_drawn_strata(items, labels), **given)
        return replace(complete(estimate, predictions, part, notes, tilted=True), estimator=ASSISTED)

    def _weigh(self, data: RoutedSample, items: IntArray) -> FloatArray:
        key = items.tobytes()
        if key not in self._working:
            chosen = [np.maximum(model.option[items], -1) for model in self._models.values()]
            self._working[key] = weigh_votes(np.stack(chosen, axis=1), data)
        return self._working[key]


def _tell_worth(plain: Estimate, assisted: Estimate) -> Estimate:
    """The assisted estimate, with how many answers would have said as much without votes."""
    wide, narrow = plain.high - plain.low, assisted.high - assisted.low
    if not wide or not narrow:
        return assisted
    answers = assisted.n.ordinary + assisted.n.complementary
    worth = round(answers * (wide / narrow) ** 2)
    note = Note(NoteKind.VOTES_WORTH, {"worth": worth, "answers": answers})
    return replace(assisted, notes=(*assisted.notes, note))
