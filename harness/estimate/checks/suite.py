"""Checks that belong with every estimate: whether the data look as the estimators suppose.

All tests of all models of a study are one family: in a study where every assumption holds, at most 5 % have
a failed test (`split_levels`). None of them can prove the assumptions; experts who err evenly in both
directions pass them all.

Some checks void a number if they fail: the answers are then not what every estimate assumes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

from oversight.harness.columns import (
    AnyLabels,
    AnyPredictions,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align_models,
)
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.checks.answer_checks import (
    ModelVotes,
    abstention,
    agreement,
    readability,
    resolution,
    routed_yes_rate,
    seen_answers,
    yes_rate_by_expert,
)
from oversight.harness.estimate.checks.draw_checks import (
    UNIFORM_CHECKS,
    Check,
    DrawnOptions,
    FamilyLevels,
    asked_options,
    asked_predicted,
    coin,
    find_drawn,
    propensities,
    routed_for,
    split_levels,
    yes_rate,
)
from oversight.harness.estimate.core import chi2_tail
from oversight.harness.estimate.data import (
    LabelledArrays,
    Strata,
    Tallies,
    estimate_tallies,
    find_strata,
    label_arrays,
    tally_columns,
    to_arrays,
)
from oversight.harness.estimate.estimators import information, inside, make_point
from oversight.harness.estimate.evidence import estimate_by_design, find_unequal
from oversight.harness.types import Estimate

LEAST_IN_STRATUM = 30


def run_checks(
    predictions: AnyPredictions,
    labels: AnyLabels,
    *,
    strata: Strata = None,
    others: Sequence[AnyPredictions] | None = None,
) -> tuple[Check, ...]:
    """Run the checks on one model's predictions and the labels; parameters as in `accuracy`.

    Parameters
    ----------
    others
        Predictions of the other models of the study, or those that come with the labels if None. Answers and
        the draw are held against the agreement of all models, which share the level of the tests.

    Returns
    -------
    tuple of Check
        In the order of `CHECKS`: those that the protocol of the labels states, `UNIFORM_CHECKS` and
        ``propensities`` of a plain list. One that has nothing to look at, or whose data are contradictory,
        is not made and says why.

    Examples
    --------
    >>> from oversight.harness.types import Label, LabelKind, Prediction
    >>> model = [Prediction(f"i{j}", 0) for j in range(60)]
    >>> said = [Label(f"i{j}", j % 4, LabelKind.COMPLEMENTARY, 4, 0.25) for j in range(60)]
    >>> [check.name for check in run_checks(model, said) if check.state == "failed"]
    ['yes_rate']
    """
    if others is None and isinstance(labels, LabelColumns):
        others = [model for model in labels.models if model is not predictions]
    (predicted, *rest), said = align_models([predictions, *(others or ())], labels)
    names = said.statement.checks if said.statements else (*UNIFORM_CHECKS, "propensities")
    data = _Data(
        predicted, said, find_strata(predicted, said, strata), rest, split_levels(names, 1 + len(rest))
    )
    return tuple(_make(name, check, data) for name, check in CHECKS.items() if name in names)


def _make(name: str, check: Callable[[_Data], Check], data: _Data) -> Check:
    try:
        return check(data)
    except EstimateError as error:
        return Check.not_made(name, str(error))


@dataclass(frozen=True)
class _Data:
    """What checks look at, made when one asks for it."""

    predictions: PredictionColumns
    labels: LabelColumns
    strata: ItemValues | None
    others: Sequence[PredictionColumns]
    levels: FamilyLevels

    @cached_property
    def tallies(self) -> Tallies:
        return tally_columns(self.predictions, self.labels, self.strata)

    @cached_property
    def arrays(self) -> LabelledArrays:
        return to_arrays(self.predictions, self.labels, self.strata)

    @property
    def of_labels(self) -> Mapping[str, Check]:
        """The checks that look at no prediction, by name; refused where `arrays` are."""
        level = self.levels.of_study
        return _check_labels(self.labels, self.strata, level) if self.arrays.kind.size else {}

    @property
    def of_votes(self) -> Mapping[str, Check]:
        """The checks that look at all models at once, by name."""
        models = frozenset([self.predictions, *self.others])
        return _check_votes(models, self.labels, self.levels.of_study)

    def check_yes_rate(self) -> Check:
        """How often experts say yes, by the draw of the protocol."""
        return (self.of_labels if self.labels.is_uniform else self.of_votes)["yes_rate"]

    @cached_property
    def drawn(self) -> DrawnOptions:
        return find_drawn(self.predictions, self.labels)

    def check_abstention(self) -> Check:
        """What abstentions may hide, by the estimator of the protocol."""

        def make(labels: LabelColumns) -> Estimate:
            if labels.is_even and labels.cluster is None:
                return estimate_tallies(tally_columns(self.predictions, labels, self.strata))
            return estimate_by_design(self.predictions, labels, level=0.95, gold=None)

        return abstention(make, self.predictions, self.labels)


@lru_cache(maxsize=1)
def _check_labels(labels: LabelColumns, strata: ItemValues | None, level: float) -> Mapping[str, Check]:
    """Checks of labels alone, made once for several models in turn."""
    arrays = label_arrays(labels, strata)
    return {
        "yes_rate": yes_rate(arrays, level),
        "asked_options": asked_options(arrays),
    }


@lru_cache(maxsize=1)
def _check_votes(
    models: frozenset[PredictionColumns], labels: LabelColumns, level: float
) -> Mapping[str, Check]:
    """Checks of labels against all models, made once for several models in turn."""
    votes = ModelVotes(tuple(models), labels)
    if votes.lacks_models:
        why = "questions were drawn for other models, too"
        return {name: Check.not_made(name, why) for name in ("yes_rate", "yes_rate_by_expert", "agreement")}
    return {
        "yes_rate": routed_yes_rate(votes, level),
        "yes_rate_by_expert": yes_rate_by_expert(votes, level),
        "agreement": agreement(votes, level),
    }


def hausman(tallies: Tallies, alpha: float) -> Check:
    """A_ord and A_comp estimate the same accuracy: Σ_h (A_ord − A_comp)²/(v_o + v_c) is χ².

    Variances at A_ML. Missed yes pulls A_comp away, false yes A_ord, routing by prediction both.
    """
    statistic, df, text = 0.0, 0, []
    for t in tallies.strata:
        if not (t.n_o and t.n_c):
            continue
        o, c, ml = (make_point(name, t.hits, t.misses) for name in ("ord", "comp", "ml"))
        at = inside(ml.value, t.n_readable)
        v = math.fsum(
            w * w / information(sample, at)
            for point in (o, c)
            for w, sample in zip(point.weights, point.components, strict=True)
        )
        statistic += (o.value - c.value) ** 2 / v
        df += 1
        text.append(f"{t}: ord {o.value:.3f}, comp {c.value:.3f}")
    if df == 0:
        return Check.not_made("hausman", "no stratum with both kinds of labels")
    return Check.of_test("hausman", statistic, chi2_tail(statistic, df), alpha, "; ".join(text))


def small_strata(tallies: Tallies, least: int = LEAST_IN_STRATUM) -> Check:
    """Every stratum has at least `least` labelled items; below, combined intervals get unreliable."""
    small = [t for t in tallies.strata if t.n_labelled < least]
    smallest = min((t.n_labelled for t in tallies.strata), default=0)
    text = f"the smallest stratum has {smallest} labelled items"
    if small:
        text = f"fewer than {least} labelled items in " + "; ".join(f"{t} ({t.n_labelled})" for t in small)
    return Check(name="small_strata", passed=not small, statistic=smallest, p_value=None, message=text)


CHECKS: Mapping[str, Callable[[_Data], Check]] = MappingProxyType(
    {
        "asked_predicted": lambda d: asked_predicted(d.arrays, d.levels.of_model),
        "yes_rate": _Data.check_yes_rate,
        "hausman": lambda d: hausman(d.tallies, d.levels.of_model),
        "asked_options": lambda d: d.of_labels["asked_options"],
        "yes_rate_by_expert": lambda d: d.of_votes["yes_rate_by_expert"],
        "agreement": lambda d: d.of_votes["agreement"],
        "propensities": lambda d: propensities(d.drawn, d.levels.of_model),
        "routed_for": lambda d: routed_for(d.drawn),
        "coin": lambda d: coin(d.drawn, d.levels.of_model),
        "seen_answers": lambda d: seen_answers(d.drawn, d.labels, d.others, d.levels.of_model),
        "resolution": lambda d: resolution(d.predictions, d.labels),
        "abstention": _Data.check_abstention,
        "readability": lambda d: readability(d.predictions, d.labels, d.levels.of_model),
        "small_strata": lambda d: small_strata(d.tallies),
    }
)
"""Name → check. Which of them apply, a protocol states."""


VOIDING_CHECKS = (
    "asked_predicted",
    "yes_rate",
    "yes_rate_by_expert",
    "agreement",
    "hausman",
    "propensities",
    "coin",
    "seen_answers",
    "abstention",
)
ERROR_CHECKS = ("yes_rate", "hausman")
"""Those that fail where experts err. They void nothing that is corrected for experts' errors."""
EQUAL_RATES = ("asked_predicted", "yes_rate", "hausman")
"""Those that assume equal answering rates. Where these differ, estimates are corrected or say so."""


def explain_failures(
    predictions: PredictionColumns, labels: LabelColumns, *, corrected: bool = False, bounded: bool = False
) -> str:
    """Say which voiding checks failed, and what they saw; empty if none did.

    Parameters
    ----------
    predictions, labels
        Of one model, and what the number is made of (`collected_part`).
    corrected
        Whether the number allows for experts' errors.
    bounded
        Whether the number holds whatever unanswered questions hide.
    """
    spared: tuple[str, ...] = ERROR_CHECKS * corrected + ("abstention",) * bounded
    spared += EQUAL_RATES * (find_unequal(labels, predictions.is_there) is not None)
    if all(model is predictions for model in labels.models):
        # one model may be worse than chance, or than those that the questions were drawn for
        spared += ("agreement",)
    failed = [check for check in _find_failed(predictions, labels) if check.name not in spared]
    return "; ".join(f"check {check.name!r} failed: {check.message}" for check in failed)


@lru_cache(maxsize=4)
def _find_failed(predictions: PredictionColumns, labels: LabelColumns) -> tuple[Check, ...]:
    """The voiding checks that failed, made once for all estimates of a model."""
    if not len(labels):
        return ()
    return tuple(
        check
        for check in run_checks(predictions, labels)
        if check.passed is False and check.name in VOIDING_CHECKS
    )
