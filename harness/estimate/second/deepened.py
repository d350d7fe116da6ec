"""Accuracies with answers to second questions, beside a protocol's own estimate, which knows none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray
from oversight.harness.columns import ABSTAINED, NO, YES, LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.collected import PARTIAL_KINDS, collected_part
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.evidence import enough_clusters
from oversight.harness.estimate.routed import FEW_OPEN, accuracy_target, routed_pool, tilted_accuracy
from oversight.harness.estimate.second.two_phase import TwoPhase, two_phase_score
from oversight.harness.estimate.side_information import Setting, SideInformation
from oversight.harness.types import Estimate, Note, NoteKind

DEEPENED = "deepened"
_POWER = 0.7
"""Of the working distribution q ∝ π^power where options were not drawn evenly (`tilted_rows`)."""


class SecondQuestions(SideInformation):
    """Second questions about items whose first answer was no, and their answers.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name.
    second
        Second questions and their answers, which the labels do not hold.
    """

    name, feature = DEEPENED, "second questions"
    subject = "second questions are"
    weighs_strata = False
    worth = NoteKind.SECOND_WORTH

    def __init__(self, models: Mapping[str, PredictionColumns], second: LabelColumns) -> None:
        self._models, self._second = models, second

    def estimate(self, model: str, setting: Setting) -> Estimate:
        """A model's accuracy, see `deepened_accuracy`."""
        return deepened_accuracy(self._models[model], setting.labels, self._second, level=setting.level)


def deepened_accuracy(
    predictions: PredictionColumns, labels: LabelColumns, second: LabelColumns, *, level: float = 0.95
) -> Estimate:
    """Accuracy of one model from first and second answers (`two_phase_score`), unreadable ones being wrong.

    A second question that its expert could not answer, or a few that are open, count as not asked, with
    chances that are as much smaller: as of first ones, it is taken for unrelated to the truth.

    Raises
    ------
    NotIdentified
        If first answers are missing, many second ones are, or items have several first questions.
    EstimateError
        If an item has no cluster where items come in clusters, or nothing can be estimated.
    """
    refuse("estimate", labels.conditions | {"second questions"})
    predictions = keep_drawn(predictions, labels)
    part, notes = collected_part(labels, predictions.is_there)
    if any(note.kind in PARTIAL_KINDS for note in notes):
        raise NotIdentified("first questions are open; second ones count once these are answered")
    data, predicted, items = routed_pool(part, [predictions])
    option = predicted[:, 0].astype(np.int64)
    number = np.bincount(data.item, minlength=len(items))
    if number.max() > 1:
        raise NotIdentified("items have several first questions, and second ones are used with one")
    readable = option >= 0
    rows = np.flatnonzero(readable & (number == 1))
    if rows.size < np.count_nonzero(readable):
        raise NotIdentified("items with a readable prediction were not asked about")
    asked, yes = data.by_item
    cluster = enough_clusters(items, labels.index, labels.cluster)
    c = accuracy_target(option, data.propensities.shape[1])
    place = np.full(labels.index.size, -1)
    place[items[rows]] = np.arange(rows.size)
    chance, shares, which, said, used, put = _read_second(second, place, yes[rows], c.shape[1])
    kept = TwoPhase(
        c=c[rows],
        propensities=data.propensities[rows],
        working=_working(c[rows], data.propensities[rows], data.valid[rows]),
        valid=data.valid[rows],
        asked=asked[rows],
        yes=yes[rows],
        chance=chance,
        shares=shares,
        second=which.astype(np.int64),
        second_yes=said,
        reach=_find_reach(c[rows], chance, shares, yes[rows]),
        cluster=None if cluster is None else np.unique(cluster[rows], return_inverse=True)[1],
    )
    inner = two_phase_score(kept, level)
    estimate = tilted_accuracy(inner, readable, data.counts, level, cluster=cluster)
    estimate = complete(estimate, predictions, part, notes)
    note = Note(NoteKind.SECOND_QUESTIONS, {"used": used, "of": put})
    return replace(estimate, method="two-phase-score", estimator=DEEPENED, notes=(*estimate.notes, note))


def _read_second(
    second: LabelColumns, place: AnyIntArray, yes: FloatArray, width: int
) -> tuple[FloatArray, FloatArray, AnyIntArray, FloatArray, int, int]:
    """Chance, shares, option and answer of every item, of questions about items at a place with a no.

    Raises
    ------
    NotIdentified
        If many are open, or none is answered.
    """
    drawn = second.drawn
    if drawn is None:
        raise NotIdentified("no second questions were drawn")
    row = place[drawn.item]
    mine = np.flatnonzero(row >= 0)
    mine = mine[yes[row[mine]] == 0]
    label = second.answers[mine]
    kind = np.where(label >= 0, np.append(second.kind, ABSTAINED)[label], -9)
    waiting, heard = int(np.count_nonzero(kind == -9)), (kind == YES) | (kind == NO)
    put, used = len(mine), int(np.count_nonzero(heard))
    if waiting > FEW_OPEN * put or not used:
        raise NotIdentified(f"{waiting} of {put} second questions about its items are not answered yet")
    n = len(yes)
    propensities, shares, chance = np.zeros((len(drawn), width)), np.zeros((n, width)), np.zeros(n)
    each = np.repeat(np.arange(len(drawn)), drawn.offered.number)
    column = np.arange(drawn.offered.values.size) - np.repeat(drawn.offered.start[:-1], drawn.offered.number)
    inside: BoolArray = column < width
    propensities[each[inside], column[inside]] = drawn.offered.values[inside]
    mine, answered = mine[heard], kind[heard]
    at, rho = row[mine], propensities[mine].sum(axis=1)
    shares[at] = propensities[mine] / rho[:, None]
    chance[at] = np.minimum(1.0, rho) * used / put
    which, said = np.zeros(n, np.int64), np.zeros(n)
    which[at], said[at] = drawn.option[mine], answered == YES
    return chance, shares, which, said, used, put


def _find_reach(c: FloatArray, chance: FloatArray, shares: FloatArray, yes: FloatArray) -> float:
    """See `TwoPhase.reach`: a harmonic mean over items whose prediction is left."""
    drawn, own = chance > 0, (c * shares).sum(axis=1)
    asked = own[drawn & (own > 0)]
    if not asked.size:
        return 0.0
    return float(np.count_nonzero(drawn) / max(1, np.count_nonzero(yes == 0)) / (1 / asked).mean())


def _working(c: FloatArray, propensities: FloatArray, valid: BoolArray) -> FloatArray:
    """The working distribution of `tilted_rows`: by the propensities, or even odds where they are even."""
    high = np.where(valid, propensities, 0.0).max(axis=1, keepdims=True)
    low = np.where(valid, propensities, np.inf).min(axis=1, keepdims=True)
    others = np.maximum((valid & (c == 0)).sum(axis=1, keepdims=True), 1)
    flat = np.where(c != 0, others, 1.0)
    q = np.where(valid, np.where(high - low < 1e-9, flat, np.maximum(propensities, 1e-12) ** _POWER), 0.0)
    working: FloatArray = q / q.sum(axis=1, keepdims=True)
    return working
