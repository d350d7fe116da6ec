"""Compare and rank several models, with the same call for every protocol.

The comparisons of all pairs of models form one family with simultaneous intervals. In a ranking, models that
do not differ significantly share ranks. Without a ranking, each of m pairs has an interval at level
1 − (1 − level)/m, and its p-value is multiplied by m (Bonferroni).

In a ranking, every pair has its own interval at the joint level, stretched around its estimate by c/z. Here c
= q/√2, q is the quantile of the studentized range of M models, and z is the quantile of one pair, so the
intervals of all pairs hold at once (Tukey 1953; Kramer 1956, Biometrics 12, for unequal variances). With
clusters, q and z come from Student's t, with one degree of freedom fewer than clusters. If two models differ
on few items, their interval is exact and wide, and the stretched interval keeps its coverage (simulated in
`benchmarks/coverage_matrix.py`).
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from oversight.harness.argument_checks import check_mapping
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import (
    ABSTAINED,
    AnyLabels,
    AnyPredictions,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align_models,
    mark,
)
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.estimate.checks import explain_failed_calls, explain_failures, is_negligible
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import (
    bonferroni,
    check_known,
    check_level,
    effective_clusters,
    range_quantile,
    range_tail,
    z_value,
)
from oversight.harness.estimate.evidence import Evidence, collected_part, enough_clusters, find_unequal
from oversight.harness.estimate.expert_errors import ErrorRanges
from oversight.harness.estimate.paired import (
    TIED,
    Comparison,
    corrected_difference,
    mcnemar,
    never_differ,
    paired_difference,
    pairs_table,
    sign_test,
)
from oversight.harness.estimate.routed_means import resolved_accuracy, routed_accuracy, t_quantile
from oversight.harness.estimate.routed_sample import RoutedSample, resolved_correctness
from oversight.harness.types import Displayable, HtmlTable, Note, level_text, percent

RANKING_ASSUMPTIONS = ("items are independent draws", "no outcome rests on the same answers twice")
CLUSTER_ASSUMPTIONS = ("clusters are independent draws", "no outcome rests on the same answers twice")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ranking(Displayable):
    """Models from best to worst, with all pairs compared at one joint level.

    Attributes
    ----------
    names, values
        Names and estimated accuracies of the models, largest accuracy first.
    ranks
        Best and worst rank that the comparisons allow for every model, from 1. A model ranks below all models
        that are significantly better, and above all models that are significantly worse. Models without a
        significant difference share ranks.
    comparisons
        Comparisons of all M(M−1)/2 pairs; the first model of a pair has the larger estimated accuracy.
    critical
        Critical value of max |z|, or of max |t| for clustered items.
    level
        Joint confidence level.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> ranking = ov.compare({"a": a, "b": b, "c": b}, labels).ranking
    >>> ranking.names, ranking.ranks
    (('a', 'b', 'c'), ((1, 3), (1, 3), (1, 3)))
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    ranks: tuple[tuple[int, int], ...]
    comparisons: tuple[Comparison, ...]
    critical: float
    level: float

    picture: ClassVar[str] = "differences"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per model."""
        rows = zip(self.names, self.values, self.ranks, strict=True)
        return [{"model": n, "accuracy": v, "best_rank": a, "worst_rank": b} for n, v, (a, b) in rows]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML for a notebook."""
        shown = (percent(min(1.0, max(0.0, value))) for value in self.values)
        return (
            HtmlTable(
                title=f"Ranking, joint confidence level {level_text(self.level)}",
                columns=("model", "rank", "accuracy"),
                rows=list(zip(self.names, self._spans, shown, strict=True)),
                notes=("models that share a rank cannot be told apart",),
            ),
        )

    @property
    def _spans(self) -> list[str]:
        return [str(a) if a == b else f"{a}–{b}" for a, b in self.ranks]

    def __str__(self) -> str:
        """Show the verdict, then one line per model: ``1–2  model  0.712``."""
        first = [name for name, (best, _) in zip(self.names, self.ranks, strict=True) if best == 1]
        verdict = (
            f"{first[0]} is the best" if len(first) == 1 else f"best: not decided between {', '.join(first)}"
        )
        spans = self._spans
        width = max(len(s) for s in spans)
        rows = zip(spans, self.names, self.values, strict=True)
        lines = [f"{span:<{width}}  {name}  {value:.3f}" for span, name, value in rows]
        return "\n".join([f"{verdict} of {len(self.names)} models", *lines])


def compare_pairs(
    names: Sequence[str], pair: Callable[[str, str, float], Comparison], *, level: float = 0.95
) -> tuple[Comparison, ...]:
    """Compare all pairs of models. The intervals and p-values of several pairs hold jointly (Bonferroni).

    Parameters
    ----------
    names
        Names of the models, at least two.
    pair
        Function that compares two models at a confidence level.
    level
        Joint confidence level.
    """
    chosen = list(combinations(names, 2))
    if len(chosen) == 1:
        return (pair(*chosen[0], level),)
    found = [pair(a, b, 1 - (1 - level) / len(chosen)) for a, b in chosen]
    p_values = bonferroni([c.p_value for c in found])
    return tuple(
        replace(c, level=level, p_value=float(p), adjusted="bonferroni")
        for c, p in zip(found, p_values, strict=True)
    )


def rank_models(
    values: Mapping[str, float],
    pair: Callable[[str, str, float], Comparison],
    *,
    level: float = 0.95,
    clusters: int | None = None,
) -> Ranking:
    """Compare all pairs at one joint level (see the module), and rank the models.

    Parameters
    ----------
    values
        Model → accuracy, used for order and display.
    pair
        Function that compares two models at a confidence level.
    level
        Joint confidence level.
    clusters
        Number of clusters, at least 2; None if items are independent. `pair` must account for clusters.
    """
    check_level(level)
    ordered = sorted(values, key=values.__getitem__, reverse=True)
    df = math.inf if clusters is None else max(1.0, clusters - 1.0)
    critical = range_quantile(level, len(values), df) / math.sqrt(2)
    stretch = critical / (z_value(level) if clusters is None else t_quantile(level, df))

    def join(found: Comparison) -> Comparison:
        p = max(found.p_value, 1e-300) / 2
        z = float(-ndtri(p) if clusters is None else -stdtrit(df, found.p_value / 2))
        middle = found.difference
        return replace(
            found,
            low=max(-1.0, middle - stretch * (middle - found.low)),
            high=min(1.0, middle + stretch * (found.high - middle)),
            p_value=range_tail(math.sqrt(2) * z, len(values), df),
            method="max-z",
            adjusted="max-z",
            assumptions=RANKING_ASSUMPTIONS if clusters is None else CLUSTER_ASSUMPTIONS,
        )

    comparisons = tuple(join(pair(a, b, level)) for a, b in combinations(ordered, 2))
    return Ranking(
        names=tuple(ordered),
        values=tuple(values[name] for name in ordered),
        ranks=rank_ranges(ordered, comparisons),
        comparisons=comparisons,
        critical=critical,
        level=level,
    )


def rank_ranges(names: Sequence[str], comparisons: Sequence[Comparison]) -> tuple[tuple[int, int], ...]:
    """Return every model's best and worst rank.

    The best rank is 1 + the number of significantly better models, and the worst rank is M − the number of
    significantly worse models.
    """
    decided = [c for c in comparisons if c.verdict != TIED]
    better = Counter(c.second if c.verdict == c.first else c.first for c in decided)
    worse = Counter(c.verdict for c in decided)
    return tuple((1 + better[name], len(names) - worse[name]) for name in names)


COMPARE_TESTS = ("auto", "paired", "sign", "mcnemar")
ADJUSTMENTS = ("max-z", "bonferroni")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelComparison(Displayable):
    """Comparisons of all pairs of models, and a ranking if a joint test was made.

    Attributes
    ----------
    pairs
        Comparisons of all pairs. The intervals and p-values of several pairs hold jointly.
    ranking
        Ranking by a joint test; None for two models and for pairwise tests.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> found = ov.compare({"a": a, "b": b}, labels)
    >>> [pair.verdict for pair in found.pairs]
    ['tie']
    """

    pairs: tuple[Comparison, ...]
    ranking: Ranking | None = None

    picture: ClassVar[str] = "differences"

    def __str__(self) -> str:
        """Show the ranking if it exists, otherwise every pair."""
        doubtful = sum(not pair.holds for pair in self.pairs)
        mark = f"(!) {doubtful} of {len(self.pairs)} intervals may not hold; " if doubtful else ""
        return "\n".join(map(str, self.pairs)) if self.ranking is None else f"{mark}{self.ranking}"

    def doubted(self, why: str) -> ModelComparison:
        """Return a copy in which each pair without a reason for doubt gets the reason `why`."""
        return self.with_pairs([replace(pair, why=pair.why or why) for pair in self.pairs])

    def with_pairs(self, pairs: Sequence[Comparison]) -> ModelComparison:
        """Return a copy with `pairs` instead of the present pairs; the order must be the same."""
        ranking = None if self.ranking is None else replace(self.ranking, comparisons=tuple(pairs))
        return replace(self, pairs=tuple(pairs), ranking=ranking)

    def records(self) -> list[dict[str, Any]]:
        """Return one row per pair of models."""
        return [row for pair in self.pairs for row in pair.records()]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML for a notebook."""
        return (*(self.ranking.html_tables() if self.ranking else ()), pairs_table(self.pairs))


def compare(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    *,
    test: str = "auto",
    adjustment: str = "max-z",
    level: float = 0.95,
    errors: ErrorRanges | None = None,
) -> ModelComparison:
    """Compare models by experts' answers about items that all models answered.

    Parameters
    ----------
    models
        Predictions by model; at least two models.
    labels
        Experts' labels.
    test
        A name of `COMPARE_TESTS`. ``auto`` uses McNemar's exact test for resolved items, and the paired
        estimator for options drawn with recorded propensities.
    adjustment
        Adjustment of intervals and p-values for several pairs: ``bonferroni``, or ``max-z``, which ranks the
        models by a joint test.
    level
        Joint confidence level, in (0, 1).
    errors
        Knowledge of experts' error rates, for which every difference is corrected (`corrected_difference`).
        More than two models are then compared in pairs (``bonferroni`` in place of ``max-z``), without a
        ranking.

    Raises
    ------
    BadInput
        If there are fewer than two models, the protocol does not allow the test, or the test does not allow a
        correction for errors.
    EstimateError
        If the data do not identify a difference, or `adjustment` is unknown.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> print(ov.compare({"a": a, "b": b}, labels).pairs[0].verdict)
    tie
    """
    check_mapping("models", models, "name to predictions")
    check_known("adjustment", adjustment, ADJUSTMENTS)
    names = list(models)
    if len(names) < 2:
        raise BadInput(f"a comparison needs at least 2 models, there are {len(names)}")
    predictions, labels = align_models(list(models.values()), labels)
    everywhere = np.logical_and.reduce([p.is_there for p in predictions])
    refuse("compare", labels.conditions, gold=errors is not None)
    labels, notes = collected_part(replace(labels, models=tuple(predictions)), everywhere)
    complete = np.logical_and.reduce([p.is_complete for p in predictions])
    why = why_unfinished(labels.asked_items, complete)
    unequal, tilts = find_unequal(labels, everywhere), errors is None and test != "sign"
    if unequal is not None and tilts and unequal.rates is not None:
        notes += (unequal.note,)
    elif unequal is not None:
        why = why or unequal.why
    _check_test(test, labels, corrected=errors is not None)
    if len(names) == 2 and not labels.asked_items.any():
        found = _unasked(predictions, level, labels.cluster)
        return ModelComparison(pairs=(replace(found, first=names[0], second=names[1]),))
    family = (
        _compare_resolved(labels, predictions)
        if labels.is_resolved
        else _compare_drawn(labels, predictions, errors, sign=test == "sign")
    )
    by_name = dict(zip(names, predictions, strict=True))

    @cache  # cached, because every model is in many pairs
    def explain(name: str) -> str:
        return explain_failures(by_name[name], labels, corrected=errors is not None)

    def doubt(pair: Comparison) -> str:
        first, second = by_name[pair.first], by_name[pair.second]
        failures = (f"{name!r}: {failed}" for name in (pair.first, pair.second) if (failed := explain(name)))
        hidden = "" if labels.is_resolved else explain_hidden(pair, first, second, labels)
        left_out = explain_failed_calls(*predictions, found=(pair.difference, pair.low, pair.high))
        return "; ".join(filter(None, [why, *failures, left_out, hidden]))

    def compare_two(a: str, b: str, each: float) -> Comparison:
        return replace(family.pair(names.index(a), names.index(b), each), first=a, second=b)

    if len(names) > 2 and adjustment == "max-z" and family.values is not None:
        ranking = rank_models(
            dict(zip(names, family.values(), strict=True)),
            compare_two,
            level=level,
            clusters=None if family.cluster is None else len(np.unique(family.cluster)),
        )
        return _doubted(ModelComparison(pairs=ranking.comparisons, ranking=ranking), notes, doubt)
    return _doubted(ModelComparison(pairs=compare_pairs(names, compare_two, level=level)), notes, doubt)


class _Family(NamedTuple):
    """Functions by which the models of a study are compared.

    Attributes
    ----------
    pair
        Compares two models, given by position, at a level.
    values
        Returns every model's accuracy, for a ranking; None if the models must not be ranked by a joint test.
    cluster
        Shape (N,): cluster number of the item; None if items are independent.
    """

    pair: Callable[[int, int, float], Comparison]
    values: Callable[[], list[float]] | None
    cluster: IntArray | None


def _compare_resolved(labels: LabelColumns, predictions: Sequence[PredictionColumns]) -> _Family:
    """Compare models by whether each prediction is right, which the answers about resolved items determine.

    If this is unknown for some items, there is no ranking, because it would be biased.
    """
    found = resolved_correctness(labels, predictions, on_differences=True)
    correct, cluster = found.correct, enough_clusters(found.items, labels.index, labels.cluster)

    def pair(i: int, j: int, level: float) -> Comparison:
        used = labels.number_answered
        return mcnemar(correct[:, i], correct[:, j], questions=used, level=level, cluster=cluster)

    values = partial(_resolved_shares, labels, predictions, correct)
    return _Family(pair, values if (correct >= 0).all() else None, cluster)


def _compare_drawn(
    labels: LabelColumns, predictions: Sequence[PredictionColumns], errors: ErrorRanges | None, *, sign: bool
) -> _Family:
    """Compare models by answers about drawn options.

    A ranking requires equal weights and experts who never err, and is not possible with the sign test.
    """
    error_free = errors is None
    evidence = Evidence.gather(predictions, labels, error_free=error_free, tilted=error_free)
    data = evidence.sample

    def pair(i: int, j: int, level: float) -> Comparison:
        a, b = evidence.option(i), evidence.option(j)
        if errors is not None:
            return corrected_difference(a, b, data, errors, level=level)
        return (_test_signs if sign else paired_difference)(a, b, data, level=level)

    def values() -> list[float]:
        alone = replace(data, cluster=None, strata=None)
        return [routed_accuracy(p, alone).value for p in evidence.predicted.T]

    return _Family(pair, values if error_free and data.weight is None and not sign else None, data.cluster)


def _test_signs(a: IntArray, b: IntArray, data: RoutedSample, *, level: float) -> Comparison:
    """Compare two models by the sign test on the items whose answer is "no"."""
    if (a < 0).any() or (b < 0).any():
        raise EstimateError(
            "some predictions are unreadable, and the sign test cannot count them as wrong; use the test "
            "'paired'"
        )
    no = data.answer == 0
    rows, options = data.item[no], np.unique(data.n_options)
    if len(options) > 1:
        raise EstimateError(
            f"the sign test needs items with the same number of options, but items have {options.tolist()}"
        )
    return sign_test(a[rows], b[rows], data.asked[no], int(options[0]), level=level)


def why_unfinished(asked: BoolArray, complete: BoolArray) -> str:
    """Return why a comparison may be biased; empty if all models were run on all items asked about.

    `complete`, shape (N,): whether every model was run on the item, with all samples.
    """
    missing = np.count_nonzero(asked & ~complete)
    return (
        f"{missing} of {np.count_nonzero(asked)} items asked about were not run with every model, or with "
        "fewer samples than other items; the items run first may not be a random sample"
        if missing
        else ""
    )


def explain_hidden(
    pair: Comparison, first: PredictionColumns, second: PredictionColumns, labels: LabelColumns
) -> str:
    """Return a message on how far unanswered questions could move a difference; empty if the effect is small.

    If a share ρ of the questions is answered and D is the estimate, the difference lies between ρ D − μ and
    ρ D + μ. μ is a sum over unanswered items on which the models differ. If the item's question is about one
    of the two predictions and has propensity π, the item adds 1/(N π). In every other case it adds 1/N.
    """
    both = first.ran & second.ran
    silent = mark(labels.item[labels.kind == ABSTAINED], labels.index.size) & both
    missing, put = np.count_nonzero(silent), np.count_nonzero(labels.labelled & both)
    if not missing:
        return ""
    items = put + np.count_nonzero(both & ~labels.asked_items)
    rows = np.flatnonzero((labels.kind == ABSTAINED) & (both & (first.option != second.option))[labels.item])
    item, option = labels.item[rows], labels.option[rows]
    is_told = (first.option[item] == option) | (second.option[item] == option)
    weight = np.where(is_told, 1 / labels.questions.propensity[rows], 1.0)
    middle, reach = (1 - missing / put) * pair.difference, float(weight.sum()) / items
    if is_negligible(middle - reach, pair.difference, middle + reach, pair.high - pair.low):
        return ""
    return (
        f"{missing} of {put} questions have no yes or no: the estimate could be anywhere from "
        f"{100 * max(-1.0, middle - reach):+.1f} to {100 * min(1.0, middle + reach):+.1f} points"
    )


def _doubted(
    found: ModelComparison, notes: tuple[Note, ...], doubt: Callable[[Comparison], str]
) -> ModelComparison:
    """Add `notes` to every pair, and the reason that `doubt` returns for doubting the pair's interval."""
    pairs = []
    for pair in found.pairs:
        why = "; ".join(filter(None, [pair.why, doubt(pair)]))
        pairs.append(replace(pair, notes=notes + pair.notes, why=why))
    return found.with_pairs(pairs)


def _resolved_shares(
    labels: LabelColumns, predictions: Sequence[PredictionColumns], correct: IntArray
) -> list[float]:
    """Estimate every model's accuracy by `resolved_accuracy`.

    If too many questions are unanswered, shares of right predictions in `correct` are returned. They are
    valid only for differences, because unresolved items on which all models agree count as wrong for all.
    """
    # if too many questions are unanswered, continue below with the shares of known items
    with contextlib.suppress(EstimateError):
        found = resolved_correctness(labels, predictions)
        own = [None if found.waiting else column for column in found.own.T]
        columns = zip(found.correct.T, own, strict=True)
        return [resolved_accuracy(z, own=heard).value for z, heard in columns]
    return [float(column[column >= 0].mean()) for column in correct.T]


def _unasked(models: Sequence[PredictionColumns], level: float, cluster: ItemValues | None) -> Comparison:
    """Compare two models without any question, which is possible only if their predictions never differ.

    Raises
    ------
    EstimateError
        If the models differ on an item, or have no item in common.
    """
    a, b = models
    both = np.flatnonzero(a.ran & b.ran)
    if not both.size or (a.option[both] != b.option[both]).any():
        raise EstimateError("labels: no item with an answer has predictions of all models")
    number = enough_clusters(both, models[0].index, cluster)
    found = never_differ(both.size if number is None else effective_clusters(number), level)
    return Comparison.of_interval(found, items=both.size, questions=0)


def _check_test(test: str, labels: LabelColumns, *, corrected: bool) -> None:
    if test not in COMPARE_TESTS:
        raise BadInput(f"test must be one of {', '.join(COMPARE_TESTS)}, is {test!r}")
    if test == "mcnemar" and not labels.is_resolved:
        raise BadInput('--test mcnemar needs resolved items: protocol = "sequential" in study.toml')
    if test in ("paired", "sign") and labels.is_resolved:
        raise BadInput(
            f"--test {test} needs one drawn option per item, but these items were asked about until resolved"
        )
    if test == "sign" and not labels.is_even:
        raise BadInput('--test sign needs uniformly drawn options: protocol = "partitioned"')
    if test == "sign" and corrected:
        raise BadInput("errors: only --test paired and --test auto correct differences for experts' errors")
