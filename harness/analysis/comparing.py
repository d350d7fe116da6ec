"""Compare the models of a study, based on experts' answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.analysis.opened_study import ChosenRuns, OpenStudy, describe_rates, refuse_panel
from oversight.harness.columns import LabelColumns, PredictionColumns, keep_predicted
from oversight.harness.config import Study
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate import ModelComparison, Ranking, accuracy, compare
from oversight.harness.store import Store

_AGREE = 5e-4
"""Accuracies that differ by less than this count as equal, because they are displayed as equal."""

_ERRORS = " (its estimates without a correction for experts' errors)"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyComparison:
    """A comparison of a study's models, and the data it used.

    Attributes
    ----------
    found
        Comparison of every pair, and a ranking if there are more than two models.
    items
        ``of``: number of items of the study; ``predicted``: number that all compared models answered.
    questions
        ``drawn`` and ``answered``: numbers of questions.
    left_out
        Remarks on models that were left out because they have no answers, and on judges.
    remark
        Remarks, joined by semicolons, on three things: whether the ranking's accuracies agree with those of
        `report_study`, corrections for experts' errors, and unused answers. Empty without remarks.
    pool
        Number of items drawn for questions, and number of all items; None if no sample of items was drawn.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> found = compare_study(read_study("study.toml"))
    >>> found.questions
    {'drawn': 54, 'answered': 54}
    """

    found: ModelComparison
    items: Mapping[str, int]
    questions: Mapping[str, int]
    left_out: Sequence[str]
    remark: str
    pool: tuple[int, int] | None = None


def compare_study(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    test: str = "auto",
    store: Store | None = None,
) -> StudyComparison:
    """Run `oversight.compare` on the newest runs of the models `names`; None means all except judges.

    If questions were asked only where two models differ, None means the two models that study.toml names
    under ``[experts]``.

    Parameters
    ----------
    store
        The study's database, if it is open.

    Raises
    ------
    BadInput
        If fewer than two models were run, there are no answers, the protocol does not allow the test, or the
        study is a panel.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> [pair] = compare_study(read_study("study.toml")).found.pairs
    >>> pair.first, pair.second, pair.verdict
    ('careful', 'quick', 'tie')
    """
    refuse_panel(study, "compare")
    with Store(study.store_url) if store is None else nullcontext(store) as database:
        opened = OpenStudy(study, database)
        chosen, left_out = _choose(opened, names)
        models = opened.predict(chosen)
        if len(models) > 1:
            opened.expect_answers()
        found, corrected = _compare(opened, models, test)
        found = found.doubted(opened.repeated)
        chosen_by = {name: opened.explain_choice(name) for name in models}
        found = found.with_pairs(
            [
                replace(p, why="; ".join(filter(None, [chosen_by[p.first], chosen_by[p.second], p.why])))
                for p in found.pairs
            ]
        )
        remarks = [corrected, opened.tell_unused()]
        if found.ranking is not None:
            errors = "" if opened.correction is None else _ERRORS
            remarks.insert(0, _explain(found.ranking, models, opened.labels) + errors)
        answered = np.logical_and.reduce([predictions.ran for predictions in models.values()])
        return StudyComparison(
            found=found,
            items={"of": opened.index.size, "predicted": int(np.count_nonzero(answered))},
            questions=opened.questions,
            pool=opened.pool,
            left_out=left_out,
            remark="; ".join(filter(None, remarks)),
        )


def _choose(opened: OpenStudy, names: Sequence[str] | None) -> tuple[ChosenRuns, Sequence[str]]:
    """Choose the models to compare; return them with remarks on models that are left out."""
    chosen, drawn = opened.choose(names), opened.study.experts.models
    others = ", ".join(name for name in chosen.names if name not in drawn)
    if names is not None or not drawn or not others or opened.labels.tells_accuracy:
        return chosen, chosen.remarks
    told = f"{others}: left out, because questions were asked only where {' and '.join(drawn)} differ"
    return opened.choose(drawn), [*chosen.remarks, told]


def _compare(
    opened: OpenStudy, models: Mapping[str, PredictionColumns], test: str
) -> tuple[ModelComparison, str]:
    """Compare models, and correct for experts' errors if possible. Returns the comparison and a remark."""
    labels, rates, why, doubt = opened.labels, opened.rates, opened.doubt, ""
    level = opened.study.estimate.level
    if rates is not None and test in ("auto", "paired") and not labels.is_resolved and len(labels):
        try:
            found = compare(models, labels, test=test, level=level, errors=rates)
        except NotIdentified as error:
            doubt = f"; {error}" if why else ""
        else:
            several = (
                "; models are compared only in pairs, because a ranking would assume that all answers are "
                "right"
            )
            told = f"differences are corrected for experts' errors, {describe_rates(rates)}"
            return found, told + several * (len(models) > 2)
    elif why and rates is not None:
        doubt = f"; --test {test} cannot correct for experts' errors" if test == "sign" else ""
    found = compare(models, labels, test=test, level=level)
    if why:
        found = found.doubted(
            why + (doubt or ("; without gold items or ranges of error rates, this cannot be corrected"))
        )
    return found, ""


def _explain(ranking: Ranking, models: Mapping[str, PredictionColumns], labels: LabelColumns) -> str:
    """Explain whether a ranking's accuracies equal those of `oversight.accuracy`, and if not, why."""
    differ = []
    for name, value in zip(ranking.names, ranking.values, strict=True):
        try:
            own = accuracy(models[name], keep_predicted(labels, models[name]))
        except EstimateError:
            differ.append(f"{name}: none there")
            continue
        if abs(own.value - value) > _AGREE:
            differ.append(f"{name}: {100 * own.value:.1f} % there")
    if not differ:
        return "these accuracies agree with those of: oversight estimate"
    uniform = bool(labels.statements) and labels.is_uniform
    how = (
        ", and every answer is weighted by the inverse of its question's probability, for all models alike"
        if uniform
        else ""
    )
    return (
        f"oversight estimate gives other accuracies ({'; '.join(differ)}): here only items count that all "
        f"models answered{how}; there each model has all its items and its own best estimator"
    )
