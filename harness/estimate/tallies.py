"""Tallies of hits and misses, and the `Estimate` that they give by any estimator.

The `Estimate` that the tallies of one or several strata give by any estimator.

Strata combined, weighted by their share of the predictions or of the labelled items.

Intervals are those of a sum from the intervals of its independent parts.

For sums the "method of variance estimates recovery" (MOVER) takes from each part's own interval the
variance that part has near its limit, and adds those: unlike value ± z·se it inherits the asymmetry
and the small-sample care of the parts. Source: Zou & Donner, "Construction of confidence limits
about effect measures", Statistics in Medicine 27, 2008. Approximate, also with exact parts:
enumerations with two strata of 12 to 60 items gave a mean coverage of .96 and a least one of .93
(.915 where a stratum had 12).

An unreadable prediction is wrong, but it must not enter the likelihood as a known wrong one: it is
resolved with certainty, while a readable wrong prediction is resolved only if the right question
happened to be asked, as is a right one. Wrong predictions would be over-represented among the
resolved and the estimate biased downwards: at A = .6 with 20 % unreadable by 14 points for K = 4
and by 35 for K = 10, however many labels there are. Instead A = ρ A_r: the readable share of the
labelled items times the accuracy on the readable ones.

From predictions and labels to the counts that hold everything the estimators use.

Strata from a model's own confidence, so that labels tell more.

If a model is more confident on items it gets right, accuracies differ between strata of confidence, and the
stratified estimate loses that difference from its variance. The strata are a function of the predictions
alone, so the estimate stays unbiased however badly the confidence is calibrated; a useless confidence
costs a little width, nothing else. (Post-stratification, Holt & Smith, 1979, JRSS A 142.)

Two ways to condition, both giving independent binomial samples (`BinomialSample`):

``answers``
    Items with a yes (the truth is known: K = 2), and items with refusals only (K' by their number).
    Right where the asked option was drawn uniformly, and where an ordinary and a complementary set
    of fixed sizes were collected: the paper's n_o, S_o, n_c, S_c.
``questions``
    Items whose predicted option was asked about (K = 2), and items where only others were. Right
    for any routing that satisfies the conditions of `likelihood`, such as asking about the
    prediction itself, where conditioning on the answers would leave no information at all.

``auto`` takes ``answers`` where the recorded propensities are those of a uniform draw. The
likelihood, and so the ML estimate, is the same either way; `ord`, `comp` and intervals differ.
Several questions about one item are one trial: counts are of items, variances by item.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from oversight.harness.arrays import FAILED, UNREADABLE, AnyIntArray, FloatArray, IntArray
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    AnyLabels,
    AnyPredictions,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align,
)
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import (
    BinomialSample,
    blaker,
    check_counts,
    check_level,
    chi2_tail,
    effective_options,
    mover_sum,
    z_value,
)
from oversight.harness.estimate.decoding import UNIFORM_ASSUMPTIONS
from oversight.harness.estimate.estimators import POINTS, check_estimator, make_point
from oversight.harness.estimate.intervals import check_method, make_interval, scale_by_share, weighted_score
from oversight.harness.estimate.tilting import join_rows, tilted_score, uniform_rows
from oversight.harness.types import (
    Counts,
    Displayable,
    Estimate,
    HtmlTable,
    Interval,
    Note,
    NoteKind,
    estimate_table,
    estimator_name,
    main_estimate,
    main_name,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumEstimate:
    """Estimate of one stratum or of several; `interval` has its notes.

    Attributes
    ----------
    stratum, n
        Name of the stratum, and number of labelled items.
    """

    stratum: str = ""
    n: int = 0
    value: float
    se: float | None
    interval: Interval


def combine_strata(
    parts: Sequence[StratumEstimate], level: float, pool: Mapping[str, int] | None
) -> StratumEstimate:
    """Weighted mean of the parts with MOVER's interval; `pool` as in `Tallies`."""
    weights, between = _weigh(parts, pool)
    ends = [(p.interval.low, p.interval.high) for p in parts]
    # an unclipped estimate may lie outside its own interval, which lies within [0, 1]
    inner = [min(high, max(low, p.value)) for p, (low, high) in zip(parts, ends, strict=True)]
    lows, highs = zip(*ends, strict=True)
    low, high = mover_sum(inner, lows, highs, weights, between=z_value(level) ** 2 * between)
    errors = [w * p.se for w, p in zip(weights, parts, strict=True) if p.se is not None]
    return StratumEstimate(
        value=math.fsum(w * p.value for w, p in zip(weights, parts, strict=True)),
        se=math.sqrt(sum((e**2 for e in errors), between)) if len(errors) == len(parts) else None,
        interval=Interval(
            low=max(0.0, low),
            high=min(1.0, high),
            level=level,
            method="/".join(sorted({p.interval.name for p in parts})),
            steps=("mover",),
            notes=tuple(dict.fromkeys(note for p in parts for note in p.interval.notes)),
            why="strata were combined from an estimate of each, which misses where they are small; "
            "the exact interval does not",
        ),
    )


def _weigh(parts: Sequence[StratumEstimate], pool: Mapping[str, int] | None) -> tuple[list[float], float]:
    """Weight of every part, and the variance due to weights that are shares of a sample."""
    labelled: Counter[str] = Counter()
    for p in parts:
        labelled[p.stratum] += p.n
    sizes = labelled if pool is None else pool
    total = sum(sizes.values())
    shares = {name: sizes.get(name, 0) / total for name in labelled}
    weights = [shares[p.stratum] * p.n / labelled[p.stratum] for p in parts]
    means = {
        name: math.fsum(p.n * p.value for p in parts if p.stratum == name) / n for name, n in labelled.items()
    }
    centre = math.fsum(w * p.value for w, p in zip(weights, parts, strict=True))
    between = math.fsum(shares[name] * (mean - centre) ** 2 for name, mean in means.items()) / total
    for p, w in zip(parts, weights, strict=True):
        between += shares[p.stratum] * w * (p.value - means[p.stratum]) ** 2 / labelled[p.stratum]
    return weights, between


def none_readable(stratum: str, n: int, level: float) -> StratumEstimate:
    """The estimate 0 if no labelled prediction names an option."""
    low, high = blaker(0, n, level)
    none = Interval(low=low, high=high, level=level, method="blaker", notes=(Note(NoteKind.ALL_UNREADABLE),))
    return StratumEstimate(stratum=stratum, n=n, value=0.0, se=None, interval=none)


def with_unreadable(
    value: float, se: float | None, made: Interval, rho: float, size: float, n: int, stratum: str = ""
) -> StratumEstimate:
    """A = ρ A_r with its interval (`scale_by_share`), from the accuracy on readable predictions.

    `size` is the number of equally weighted items that determine the readable share ρ as precisely as these
    n.
    """
    if rho < 1:
        inner = min(made.high, max(made.low, value))
        _, low, high = scale_by_share(rho, size, inner, made.low, made.high, made.level)
        if se is not None:
            se = math.sqrt((rho * se) ** 2 + value**2 * rho * (1 - rho) / size)
        value *= rho
        made = replace(made, low=max(0.0, low), high=high, steps=(*made.steps, "share"))
    return StratumEstimate(stratum=stratum, n=n, value=value, se=se, interval=made)


_ASSUMED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "answers": UNIFORM_ASSUMPTIONS[:1],
        "questions": (
            "whether the predicted option was asked about does not depend on its being right",
            "the other options asked about are uniform over the wrong ones",
        ),
    }
)
_ALWAYS = UNIFORM_ASSUMPTIONS[1:]
_COUNTED = ("n_yes", "n_no", "n_unreadable", "n_failed", "n_abstained")

Conditioning = Literal["answers", "questions"]
"""Which numbers are taken as given; see `oversight.harness.estimate.tallies`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Sufficient counts of one model on the items of one stratum with K options.

    Attributes
    ----------
    K
        Options of every item.
    stratum
        Name of the stratum; empty without one.
    split
        The condition of the samples.
    hits
        n_o and S_o: items whose label settles whether the (readable) prediction is right.
    misses
        n_c and S_c by effective K': items with refused options; success means that the prediction was not
        refused.
    n_yes, n_no
        Labels on items that have a prediction, readable or not.
    n_unreadable
        Labelled items whose prediction names no option: wrong.
    n_failed
        Labelled items whose prediction failed: excluded.
    n_abstained
        Questions without an answer: missing.
    """

    K: int
    stratum: str = ""
    split: Conditioning = "answers"
    hits: BinomialSample
    misses: tuple[BinomialSample, ...]
    n_yes: int
    n_no: int
    n_unreadable: int = 0
    n_failed: int = 0
    n_abstained: int = 0

    @property
    def outcomes(self) -> tuple[int, int, int, int]:
        """Readable items with one question: about the prediction, yes and no; about another, no and yes."""
        wrong, refused = self.hits.n - self.hits.S, sum(m.n - m.S for m in self.misses)
        if self.split == "answers":
            return self.hits.S, refused, self.S_c, wrong
        return self.hits.S, wrong, self.S_c, refused

    def add(self, other: Tally) -> Tally:
        """Add two tallies with the same K and split, in a stratum without a name."""
        misses: Counter[float] = Counter()
        right: Counter[float] = Counter()
        for m in (*self.misses, *other.misses):
            misses[m.K] += m.n
            right[m.K] += m.S
        return replace(
            self,
            stratum="",
            hits=BinomialSample(2, self.hits.n + other.hits.n, self.hits.S + other.hits.S),
            misses=tuple(BinomialSample(K, n, right[K]) for K, n in misses.items()),
            **{name: getattr(self, name) + getattr(other, name) for name in _COUNTED},
        )

    @property
    def n_o(self) -> int:
        """Items whose label settles the prediction."""
        return self.hits.n

    @property
    def S_o(self) -> int:  # noqa: N802  the source's name
        """Right predictions among them."""
        return self.hits.S

    @property
    def n_c(self) -> int:
        """Items with refused options only."""
        return sum(m.n for m in self.misses)

    @property
    def S_c(self) -> int:  # noqa: N802  the source's name
        """Items among them none of whose refused options is the predicted one."""
        return sum(m.S for m in self.misses)

    @property
    def n_readable(self) -> int:
        """Labelled items with a readable prediction."""
        return self.n_o + self.n_c

    @property
    def n_labelled(self) -> int:
        """Labelled items whose prediction did not fail."""
        return self.n_readable + self.n_unreadable

    def __str__(self) -> str:
        """Name of the stratum in a message."""
        return f"stratum {self.stratum!r}, K = {self.K}" if self.stratum else f"K = {self.K}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """The tallies of a model.

    Attributes
    ----------
    n_unlabelled
        Number of its predictions without a label.
    pool
        Number of predictions in every named stratum, by which strata are weighted; None: by their
        labelled items.
    """

    strata: tuple[Tally, ...]
    n_unlabelled: int = 0
    pool: Mapping[str, int] | None = None

    @property
    def counts(self) -> Counts:
        """Counts over all strata."""
        return Counts(
            ordinary=sum(t.n_yes for t in self.strata),
            complementary=sum(t.n_no for t in self.strata),
            abstained=sum(t.n_abstained for t in self.strata),
            unreadable=sum(t.n_unreadable for t in self.strata),
            failed=sum(t.n_failed for t in self.strata),
            unlabelled=self.n_unlabelled,
        )


def estimate_tallies(
    tallies: Tallies,
    *,
    estimator: str = "ml",
    interval: str | None = None,
    level: float = 0.95,
    published: bool = False,
) -> Estimate:
    """Estimate from existing tallies, for many models or label sets at once.

    Parameters
    ----------
    tallies
        Result of `tally`.
    estimator, interval, level, published
        As in `accuracy`.

    Raises
    ------
    EstimateError
        If the estimator is undefined for these counts.
    """
    check_level(level)
    method = interval or ("wald" if published else "exact")
    check_estimator(estimator)
    check_method(method)
    used = [t for t in tallies.strata if t.n_labelled]
    if not used:
        raise EstimateError("labels must hold a yes or no on a prediction that did not fail; there is none")
    for name in tallies.pool or ():
        if all(t.stratum != name for t in used):
            raise EstimateError(
                f"strata: {name!r} has predictions but no usable label; nothing follows for it"
            )
    # other intervals than the exact one are those of each stratum, combined
    together = method == "exact" and len(used) > 1
    groups = merge_tallies(used, tallies.pool) if together else [(1.0, t) for t in used]
    if len(groups) == 1:
        whole = estimate_stratum(groups[0][1], estimator, method, level, published=published)
    elif method == "exact":
        whole = estimate_groups(groups, estimator, level)
    else:
        parts = [estimate_stratum(t, estimator, method, level, published=published) for t in used]
        whole = combine_strata(parts, level, tallies.pool)
    notes = [*whole.interval.notes]
    notes += [Note(NoteKind.STRATIFIED)] * (len(used) > 1)
    notes += [Note(NoteKind.CONDITIONED_ON_QUESTIONS)] * any(t.split == "questions" for t in used)
    return Estimate.from_interval(
        value=whole.value,
        se=whole.se,
        interval=replace(whole.interval, notes=tuple(dict.fromkeys(notes))),
        estimator=estimator,
        n=tallies.counts,
        assumptions=(*dict.fromkeys(a for t in used for a in _ASSUMED[t.split]), *_ALWAYS),
    )


def estimate_stratum(
    tally: Tally, estimator: str, method: str, level: float, *, published: bool = False
) -> StratumEstimate:
    """Estimate A = ρ A_r in one stratum.

    The interval is that of A_r if every labelled prediction is readable, else that of `scale_by_share`; where
    every item is settled (K = 2, or each prediction asked about) it is one binomial's.

    Raises
    ------
    EstimateError
        If the estimator is undefined for the counts of the stratum; names it.
    """
    n = tally.n_labelled
    if tally.n_readable == 0:
        return none_readable(tally.stratum, n, level)
    scale = tally.n_readable / n, n, n, tally.stratum
    try:
        p = make_point(estimator, tally.hits, tally.misses, published=published)
        if method == "exact" and len(p.parts) == 1 and p.parts[0].K == 2 and p.parts[0].n == tally.n_readable:
            # every labelled item is settled, including unreadable ones, which are failures of one binomial
            low, high = blaker(p.parts[0].S, n, level)
            whole = Interval(low=low, high=high, level=level, method="blaker", notes=p.notes)
            return replace(with_unreadable(p.value, p.se, whole, *scale), interval=whole)
        made = make_interval(p, method, level)
    except EstimateError as error:
        raise type(error)(f"{tally}: {error}") from error
    return with_unreadable(p.value, p.se, replace(made, notes=p.notes + made.notes), *scale)


_LIKELY = 0.2
"""p of the χ² test of proportional labelling from which on it is taken for that."""


def merge_tallies(used: Sequence[Tally], pool: Mapping[str, int] | None) -> list[tuple[float, Tally]]:
    """Add tallies whose items have the same weight and number of options; return them with that weight.

    Counts of one K that weigh the same follow the law of one stratum exactly, however accuracies
    differ between strata, and small strata cost nothing.
    """
    labelled: Counter[str] = Counter()
    for t in used:
        labelled[t.stratum] += t.n_labelled
    sizes = labelled if pool is None or is_proportional(labelled, pool) else pool
    total = sum(sizes[name] for name in labelled)
    merged: dict[tuple[int, str, float], Tally] = {}
    for t in used:
        weight = sizes[t.stratum] / total / labelled[t.stratum]
        key = (t.K, t.split, round(weight * total, 9))
        merged[key] = merged[key].add(t) if key in merged else t
    return [(weight / total, t) for (_, _, weight), t in merged.items()]


def is_proportional(labelled: Mapping[str, int], pool: Mapping[str, int]) -> bool:
    """Whether strata are labelled about as often as in a random draw from the predictions.

    If so, items have equal weights: weights that only undo the randomness of the draw cost width and remove
    no bias.
    """
    share = sum(labelled.values()) / sum(pool[name] for name in labelled)
    statistic = math.fsum(
        (n - share * pool[name]) ** 2 / (share * pool[name]) for name, n in labelled.items()
    )
    return chi2_tail(statistic, max(1, len(labelled) - 1)) >= _LIKELY


def estimate_groups(groups: Sequence[tuple[float, Tally]], estimator: str, level: float) -> StratumEstimate:
    """Estimate over groups of different K or weight by one joint test instead of one per group.

    For `ml`, with one question an item, the score test of `tilted_score`; else that of `weighted_score`.
    """
    readable = [(w, t) for w, t in groups if t.n_readable]
    n, carried = sum(t.n_labelled for _, t in groups), sum(t.n_readable for _, t in groups)
    if not readable:
        return none_readable("", n, level)
    if estimator in ("ord", "comp"):
        chosen = [(w, t, (t.hits,) if estimator == "ord" else t.misses) for w, t in readable]
        for _, t, _ in chosen:
            make_point(estimator, t.hits, t.misses)  # raises an error for a group without such labels
    else:
        chosen = [(w, t, tuple(c for c in (t.hits, *t.misses) if c.n)) for w, t in readable]
    share = math.fsum(w * t.n_readable for w, t in readable)
    if estimator not in ("ord", "comp") and all(c.K == t.K for _, t in readable for c in t.misses):
        rows = join_rows([uniform_rows(t.K, t.outcomes, w / share) for w, t in readable])
        found = tilted_score(rows, level)
        value, low, high, se, method = found.value, found.low, found.high, found.se, "tilted-score"
    else:
        shares = [(w * t.n_readable / share, samples) for w, t, samples in chosen]
        (value, low, high, se), method = weighted_score(shares, level), "weighted-score"
    if estimator in ("ivw", "ivw_half"):
        points = [(w * t.n_readable / share, make_point(estimator, t.hits, t.misses)) for w, t in readable]
        value = math.fsum(w * p.value for w, p in points)
    notes: tuple[Note, ...] = () if 0 <= value <= 1 else (Note(NoteKind.OUT_OF_RANGE),)
    if not low <= min(1.0, max(0.0, value)) <= high:
        notes += (Note(NoteKind.VALUE_OUTSIDE_INTERVAL),)
    made = Interval(low=low, high=high, level=level, method=method, notes=notes)
    # unreadable predictions with larger weights make the share less certain
    size = n if carried == n else 1 / math.fsum(w**2 * t.n_labelled for w, t in groups)
    return with_unreadable(value, se, made, share if carried < n else 1.0, size, n)


class Estimates(Displayable, dict[str, Estimate]):
    """Estimates by estimator name; `undefined` says why an estimator is missing.

    Examples
    --------
    >>> found = estimate_counts(4, S_o=77, n_o=120, S_c=321, n_c=360)
    >>> sorted(found), round(found["ml"].value, 3)
    (['comp', 'ivw', 'ivw_half', 'ml', 'ord'], 0.656)
    """

    picture = "estimates"

    def __init__(self, estimates: Mapping[str, Estimate], undefined: Mapping[str, str]) -> None:
        super().__init__(estimates)
        self.undefined: Mapping[str, str] = MappingProxyType(dict(undefined))

    def records(self) -> list[dict[str, Any]]:
        """One row per estimate; an undefined one has no value, and its reason as `why`."""
        made = [e.records()[0] | {"estimator": name} for name, e in self.items()]
        return [*made, *({"estimator": name, "why": why} for name, why in self.undefined.items())]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML for a notebook."""
        return (estimate_table(self, self.undefined, title=""),)

    @property
    def headline(self) -> str:
        """The estimate to quote, or why there is none."""
        quoted = main_estimate(self)
        reasons = "; ".join(dict.fromkeys(self.undefined.values()))
        return f"no accuracy: {reasons}" if quoted is None else str(quoted)

    def __str__(self) -> str:
        """The estimate to quote, and the names of the others."""
        others = [estimator_name(name) for name in self if name != main_name(self)]
        return "\n".join([self.headline, *([f"other estimates: {', '.join(others)}"] if others else [])])


class ModelEstimates(Displayable, dict[str, Estimates]):
    """All estimates of several models, by the model's name.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> found = ov.model_accuracies({"a": a, "b": b}, labels)
    >>> {name: round(estimates["ml"].value, 2) for name, estimates in found.items()}
    {'a': 0.8, 'b': 0.67}
    """

    picture = "estimates"

    def records(self) -> list[dict[str, Any]]:
        """A row an estimate."""
        return [{"model": name} | row for name, made in self.items() for row in made.records()]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """HTML shown in a notebook: one table per model."""
        return tuple(estimate_table(made, made.undefined, name) for name, made in self.items())

    def __str__(self) -> str:
        """One line per model, with the estimate to quote."""
        return "\n".join(f"{name}: {made.headline}" for name, made in self.items())


def all_estimators(
    tallies: Tallies, *, interval: str | None = None, level: float = 0.95, published: bool = False
) -> Estimates:
    """Every estimator of one tally; parameters as in `estimate_tallies`.

    Raises
    ------
    EstimateError
        If none is defined.
    """
    found: dict[str, Estimate] = {}
    undefined: dict[str, str] = {}
    check_level(level)
    if interval is not None:
        check_method(interval)
    for name in POINTS:
        try:
            found[name] = estimate_tallies(
                tallies, estimator=name, interval=interval, level=level, published=published
            )
        except EstimateError as error:
            undefined[name] = str(error)
    if not found:
        raise EstimateError(f"no estimator is defined: {undefined['ml']}")
    return Estimates(found, undefined)


def estimate_counts(
    K: int,
    S_o: int,
    n_o: int,
    S_c: int,
    n_c: int,
    *,
    level: float = 0.95,
    interval: str | None = None,
    published: bool = False,
) -> Estimates:
    """Estimate accuracy from the counts of a set of ordinary labels and a set of complementary ones.

    Parameters
    ----------
    K
        Options, ≥ 2.
    S_o, n_o
        Right predictions among n_o ordinary labels.
    S_c, n_c
        Predictions that are not the refused option, among n_c complementary labels ("weakly
        correct"; the violations are n_c − S_c). The two sets must be of different items.
    level
        Confidence level, in (0, 1).
    interval
        A name of `intervals.INTERVALS`; ``exact`` if None (``wald`` with `published`).
    published
        The conventions of "Towards Scalable Oversight via Partitioned Human Supervision".

    Returns
    -------
    Estimates
        ``ord``, ``comp``, ``ivw_half``, ``ivw``, ``ml``; `undefined` says why one is left out.

    Examples
    --------
    >>> found = estimate_counts(4, S_o=77, n_o=120, S_c=321, n_c=360)
    >>> str(found["ml"])
    '0.656 [0.587, 0.717] ML, exact 95% · 120 ordinary + 360 complementary'

    Raises
    ------
    EstimateError
        If the counts are impossible or all zero, or K < 2.
    """
    check_counts(K, S_o, n_o, S_c, n_c)
    one = Tally(
        K=K,
        hits=BinomialSample(2, n_o, S_o),
        misses=(BinomialSample(K, n_c, S_c),) if n_c else (),
        n_yes=n_o,
        n_no=n_c,
    )
    return all_estimators(Tallies(strata=(one,)), interval=interval, level=level, published=published)


CONFIDENCE: Literal["confidence"] = "confidence"
"""In place of strata: by the model's own confidence."""

Strata = Mapping[str, str] | ItemValues | Literal["confidence"] | None
"""Stratum of every item, by id or by place, or `CONFIDENCE`.

Strata are weighted by their share of the predictions, so that they may be labelled at different rates.
"""


MOST_STRATA = 5
LABELS_EACH = 40
"""Strata with fewer labels than about this are estimated too badly to be worth telling apart."""


def stratify_by_confidence(predictions: PredictionColumns, n_labels: int) -> ItemValues:
    """Cut predictions into strata of about equal size by their confidence.

    Parameters
    ----------
    predictions
        All predictions; those without a confidence count as the least certain.
    n_labels
        Number of labels, which limits the number of strata.

    Returns
    -------
    ItemValues
        ``"confidence 1"`` (least sure) to at most ``"confidence 5"``. Equal confidences share a stratum.

    Raises
    ------
    EstimateError
        If no prediction has a confidence.
    """
    if predictions.confidence is None:
        raise EstimateError(
            "strata: no prediction has a confidence; ask with logprobs = true or samples > 1, where offered"
        )
    sure = np.nan_to_num(predictions.confidence[predictions.is_there], nan=-1.0)
    k = max(1, min(MOST_STRATA, n_labels // LABELS_EACH))
    ends = np.quantile(sure, np.arange(1, k) / k, method="inverted_cdf")
    code = np.full(predictions.index.size, -1, dtype=np.int64)
    code[predictions.is_there] = np.searchsorted(np.unique(ends), sure, side="left")
    return ItemValues(code=code, names=[f"confidence {s + 1}" for s in range(k)])


def find_strata(predictions: PredictionColumns, labels: LabelColumns, strata: Strata) -> ItemValues | None:
    """The stratum of every item: as given, or by the model's confidence.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> find_strata(predicted, said, {f"i{j}": "easy" for j in range(80)}).names
    ['easy']
    """
    if isinstance(strata, str):
        return stratify_by_confidence(predictions, len(labels))
    return ItemValues.of(strata, labels.index) if isinstance(strata, Mapping) else strata


def fill_answers(
    said: AnyIntArray,
    option: AnyIntArray,
    item: AnyIntArray,
    y_hat: AnyIntArray,
    n_options: AnyIntArray,
    *,
    favourable: bool,
) -> AnyIntArray:
    """Fill in missing answers, all for or all against the model.

    For it: yes on its prediction, no elsewhere. Against it: no on its prediction, and one yes
    elsewhere. An item has one truth, so there is no second yes; and where all other options are
    refused, the last one stays open (it must be true).

    Parameters
    ----------
    said, option, item
        Shape (L,): 1 yes, 0 no, −1 missing; the option asked about; the place of its item.
    y_hat, n_options
        Shape (N,): the model's option, negative if it named none; K.
    """
    on_prediction = option == y_hat[item]
    alone = np.bincount(item, minlength=n_options.size)[item] == 1
    kind = np.where(alone & (said == ABSTAINED), np.where(on_prediction == favourable, YES, NO), said)
    has_yes = np.bincount(item[kind == YES], minlength=n_options.size) > 0
    refused = np.bincount(item[kind == NO], minlength=n_options.size)
    for row in np.flatnonzero(kind == ABSTAINED).tolist():
        i = int(item[row])
        if not has_yes[i] and on_prediction[row] == favourable:
            kind[row] = YES
            has_yes[i] = True
        elif refused[i] < n_options[i] - 1:
            kind[row] = NO
            refused[i] += 1
    return kind


def check_labels(predictions: PredictionColumns, labels: LabelColumns) -> None:
    """Raise an error for labels that cannot be tallied.

    Raises
    ------
    EstimateError
        If something is missing or impossible, or labels of an item do not agree on how many options it has;
        names row and value.
    """
    if not len(predictions):
        raise EstimateError("predictions must not be empty")
    if not len(labels):
        raise EstimateError("labels must not be empty: without a label nothing can be estimated")
    ids = labels.index.ids
    for row in np.flatnonzero(~predictions.is_there[labels.item]):
        raise EstimateError(f"labels[{row}]: item {ids[labels.item[row]]!r} has no prediction")
    asked, first = labels.questions, labels.n_options[labels.rank]
    k, option, p = asked.n_options, asked.option, asked.propensity
    for row in np.flatnonzero(first != k):
        name = ids[labels.item[row]]
        raise EstimateError(
            f"labels[{row}]: n_options must be {first[row]} as before for item {name!r}, is {k[row]}"
        )
    for row in np.flatnonzero(k < 2):
        raise EstimateError(f"labels[{row}]: n_options must be at least 2, is {k[row]}")
    for row in np.flatnonzero((option < 0) | (option >= k)):
        name = ids[labels.item[row]]
        raise EstimateError(
            f"labels[{row}]: option must lie in 0..{k[row] - 1} for item {name!r}, is {option[row]}"
        )
    for row in np.flatnonzero(~((p > 0) & (p <= 1))):
        raise EstimateError(f"labels[{row}]: propensity must lie in (0, 1], is {p[row]}")


_NEAR = 1e-6
"""Propensities that differ by less are equal."""


class Design:
    """The labels of a study, checked and collected by item; `split` is described in the module.

    Attributes
    ----------
    labels
        The labels as they came.
    item, option
        Place and option of every answered label (abstentions removed), shape (L,).
    yes
        Whether that label is a yes, shape (L,).
    group
        Stratum of every item, 0..G−1, shape (n_items,); K is constant in a group.
    K, strata
        Options in every group, shape (G,), and the name of its stratum.
    n_no, has_yes
        Refusals of and whether there is a yes on every item, shape (n_items,).
    certain
        Items whose asked options were all certain to be asked about (propensity 1), shape (n_items,).
    split
        By which numbers every group's samples are conditioned on, see the module.
    mute
        Item and option of every question without an answer.
    labelled
        Items with a yes or a no, shape (n_items,).
    width
        One more than the largest number of answered questions about one item.
    cell, total
        Number of every item's group and options refused (0: a yes), g·width + m, shape (n_items,);
        labelled items in every cell, shape (G·width,).
    decisive
        Labels that tell about a prediction by answer: yes, and no where there is no yes, shape (L,).
    n_labels
        Yes and no labels by group.

    Raises
    ------
    EstimateError
        If a label is impossible or contradicts another; the message names row and value.
    """

    def __init__(
        self, labels: LabelColumns, strata: ItemValues | None, split: Conditioning | Literal["auto"]
    ) -> None:
        self.labels = labels
        self.group, self.K, self.strata = _groups(labels, strata)
        n_items, n_groups = labels.places.size, self.K.size
        rows = np.flatnonzero(labels.kind != ABSTAINED)
        keep = slice(None) if rows.size == len(labels) else rows  # a slice copies nothing
        self.item, self.option = labels.rank[keep], labels.option[keep]
        self.yes = labels.kind[keep] == YES
        n_yes = np.bincount(self.item[self.yes], minlength=n_items)
        self.n_no = np.bincount(self.item[~self.yes], minlength=n_items)
        self._check_one_answer(rows)
        self._check_one_truth(n_yes)
        self.certain = np.zeros(n_items, np.bool_)
        self.certain[self.item] = True
        self.certain[labels.rank[labels.questions.propensity < 1 - _NEAR]] = False
        self.split = _choose_conditioning(split, labels, self.group, self.K)
        mute = labels.kind == ABSTAINED
        self.mute = labels.rank[mute], labels.option[mute]
        self.has_yes = n_yes > 0
        self.labelled = self.has_yes | (self.n_no > 0)
        self.width = int((self.n_no + n_yes).max()) + 1
        self.cell = self.group.astype(np.int64) * self.width + np.where(self.has_yes, 0, self.n_no)
        self.total = np.bincount(self.cell[self.labelled], minlength=n_groups * self.width)
        self.decisive = self.yes | ~self.has_yes[self.item]
        self.n_labels = [
            np.bincount(self.group, weights=n, minlength=n_groups).astype(np.int64)
            for n in (n_yes, self.n_no)
        ]

    def name(self, item: np.integer[Any] | int) -> str:
        """Name of an item in a message."""
        return repr(self.labels.index.ids[int(self.labels.places[item])])

    def _check_one_answer(self, rows: AnyIntArray) -> None:
        """Raise an error for two answers to one question; `rows` are the positions of answered labels."""
        item, option = self.item, self.option
        span = int(self.labels.n_options.max())
        key = item.astype(np.int64) * span + option
        seen = np.zeros(self.n_no.size * span, np.bool_)
        seen[key] = True
        if np.count_nonzero(seen) == key.size:
            return
        order = np.argsort(key, kind="stable")
        again = int(np.flatnonzero(np.diff(key[order]) == 0)[0])
        first, second = order[again : again + 2].tolist()
        what = (
            f"labels[{rows[first]}] and labels[{rows[second]}]: item {self.name(item[first])}, "
            f"option {option[first]}"
        )
        if self.yes[first] != self.yes[second]:
            raise EstimateError(f"{what} must have one answer, has both yes and no")
        raise EstimateError(
            f"{what} must have one answer, has two; several experts per question need a noise model"
        )

    def _check_one_truth(self, n_yes: AnyIntArray) -> None:
        """Raise an error for two true options, or for items without a possible truth."""
        for i in np.flatnonzero(n_yes > 1):
            options = self.option[(self.item == i) & self.yes].tolist()
            raise EstimateError(
                f"labels: item {self.name(i)} must have one true option, has yes for {options}"
            )
        K = self.labels.n_options
        for i in np.flatnonzero(self.n_no >= K):
            raise EstimateError(f"labels: item {self.name(i)} has all its {K[i]} options refused")


_gather_design = lru_cache(maxsize=2)(Design)
"""The design of labels, gathered once for several models in turn, with and without strata."""


def _groups(
    labels: LabelColumns, strata: ItemValues | None
) -> tuple[AnyIntArray, AnyIntArray, tuple[str, ...]]:
    """Number the groups of equal stratum and K: group of every item, K and stratum of every group."""
    key = n_options = labels.n_options
    span = int(n_options.max()) + 1
    if strata is not None:
        code = strata.code[labels.places]
        for place in labels.places[code < 0]:
            raise EstimateError(f"strata: the labelled item {labels.index.ids[place]!r} has no stratum")
        key = code.astype(np.int64) * span + n_options
    keys: AnyIntArray = key[:1]
    group: AnyIntArray = np.zeros(key.size, np.int8)
    if key.min() != key.max():
        keys, group = np.unique(key, return_inverse=True)
    if strata is None:
        return group, keys, ("",) * keys.size
    return group, keys % span, tuple(strata.names[code] for code in (keys // span).tolist())


def _choose_conditioning(
    split: Conditioning | Literal["auto"], labels: LabelColumns, group: AnyIntArray, K: AnyIntArray
) -> tuple[Conditioning, ...]:
    """Choose for every group; see the module for what the names mean."""
    if split != "auto":
        return (split,) * K.size
    asked = np.bincount(labels.rank, minlength=group.size)[labels.rank]
    which = group[labels.rank]
    chosen: list[Conditioning] = []
    for g, k in enumerate(K.tolist()):
        mine = slice(None) if K.size == 1 else which == g
        uniform = _uniform(labels.questions.propensity[mine], labels.kind[mine], asked[mine], k)
        chosen.append("answers" if uniform else "questions")
    return tuple(chosen)


def _uniform(p: FloatArray, kind: AnyIntArray, asked: AnyIntArray, K: int) -> bool:
    """Whether the propensities are those of options drawn uniformly.

    m of K drawn: all m/K. A wrong option drawn given the truth: 1/(K−1). The truth given: 1. One
    option asked about for certain (targeted): not uniform, unless all K were asked.
    """
    refused = kind != YES
    no, yes = p[refused], p[~refused]
    near = _NEAR * K
    if not ((np.abs(yes * K - np.rint(yes * K)) < near) | (np.abs(yes * (K - 1) - 1) < near)).all():
        return False
    if no.size == 0 or (np.abs(no * K - asked[refused]) < near).all():
        return True
    first = float(no[0])
    m = round(first * K)
    is_share = abs(first * (K - 1) - 1) < near or (abs(first * K - m) < near and 1 <= m < K)
    return is_share and bool(np.ptp(no) < _NEAR)


def tally(
    predictions: AnyPredictions,
    labels: AnyLabels,
    *,
    strata: Strata = None,
    split: Conditioning | Literal["auto"] = "auto",
) -> Tallies:
    """Tally one model's predictions.

    Parameters
    ----------
    predictions
        One per item.
    labels
        Any number per item, not two for one option; all items must be predicted.
    strata
        Stratum of every labelled item, by id.
    split
        See the module.

    Raises
    ------
    EstimateError
        If something is missing, double, contradictory or out of range; names row and value.
    NotIdentified
        If an item's questions were certain not to settle its prediction.
    """
    predicted, said = align(predictions, labels)
    return tally_columns(predicted, said, find_strata(predicted, said, strata), split)


@lru_cache(maxsize=2)  # a report needs the curve's portions and the whole in turn
def tally_columns(
    predictions: PredictionColumns,
    labels: LabelColumns,
    strata: ItemValues | None,
    split: Conditioning | Literal["auto"] = "auto",
) -> Tallies:
    """Tally one model's predictions, cached; parameters and errors as in `tally`."""
    check_labels(predictions, labels)
    y = predictions.option[labels.places].astype(np.int64)
    strata_tallies = _tally_groups(_gather_design(labels, strata, split), y)
    return Tallies(strata=strata_tallies, n_unlabelled=len(predictions) - labels.places.size)


def _tally_groups(design: Design, y: AnyIntArray) -> tuple[Tally, ...]:
    """Count one model's hits and misses in every group; `y` are its predictions of the labelled items."""
    n_options = design.labels.n_options
    for i in np.flatnonzero((y < FAILED) | (y >= n_options)):
        raise EstimateError(
            f"predictions: option must lie in 0..{n_options[i] - 1} (or -1 unreadable, -2 failed) "
            f"for item {design.name(i)}, is {y[i]}"
        )
    trials = _by_answers(design, y)
    if "questions" in design.split:
        asked = np.array([split == "questions" for split in design.split])
        trials[asked] = _by_questions(design, y, asked[design.group])[asked]
    lost = np.flatnonzero((y < 0) & design.labelled)
    yes, no = _used_labels(design, y)
    unreadable, failed = (_by_group(design, lost[y[lost] == code]) for code in (UNREADABLE, FAILED))
    abstained = _by_group(design, design.mute[0])
    return tuple(
        Tally(
            K=K,
            stratum=design.strata[g],
            split=design.split[g],
            hits=_sample(2, trials[g, 0]),
            misses=tuple(
                _sample(effective_options(K, m), trials[g, m])
                for m in range(1, design.width)
                if trials[g, m].any()
            ),
            n_yes=yes[g],
            n_no=no[g],
            n_unreadable=unreadable[g],
            n_failed=failed[g],
            n_abstained=abstained[g],
        )
        for g, K in enumerate(design.K.tolist())
    )


def _by_answers(design: Design, y: AnyIntArray) -> IntArray:
    """Failures and successes by group and options refused (0: a yes), shape (G, width, 2).

    A yes settles a prediction, a success if it is the option. A refused prediction is a failure
    among the refusals. Totals are known beforehand; only hits and unusable predictions are looked
    up, which is what makes many models cheap.
    """
    shape = (design.K.size, design.width)
    cells = design.K.size * design.width
    lost = np.flatnonzero((y < 0) & design.labelled)
    total = design.total - np.bincount(design.cell[lost], minlength=cells)
    rows = np.flatnonzero((y[design.item] == design.option) & design.decisive)
    hits = np.bincount(design.cell[design.item[rows]], minlength=cells).reshape(shape)
    rest = total.reshape(shape) - hits
    trials = np.stack([hits, rest], axis=-1)
    trials[:, 0] = trials[:, 0, ::-1]
    return trials


def _by_questions(design: Design, y: AnyIntArray, mine: AnyIntArray) -> IntArray:
    """Like `_by_answers` for the items `mine`, by options asked about other than the prediction.

    An asked prediction is settled (row 0), and so is any by a yes to a question that was certain;
    a yes for another option is a failure among the misses. An item whose questions were certain and
    the one about the prediction unanswered is missing; that is not harmless if it was asked only
    after others were refused, and the abstention check bounds what it can do.

    Raises
    ------
    NotIdentified
        If an option other than the prediction was certain to be asked about and was refused: the
        answer then says nothing about the prediction, and no weighting can make it.
    """
    hit = y[design.item] == design.option
    hit_yes, hit_no, missing = np.zeros((3, y.size), np.bool_)
    hit_yes[design.item[hit & design.yes]] = True
    hit_no[design.item[hit & ~design.yes]] = True
    settled = hit_yes | hit_no | (design.certain & design.has_yes)
    mute_item, mute_option = design.mute
    missing[mute_item[y[mute_item] == mute_option]] = True
    missing &= design.certain & ~settled
    use = mine & design.labelled & (y >= 0) & ~missing
    known = design.n_no >= design.labels.n_options - 1
    stuck = np.flatnonzero(use & ~settled & design.certain & ~known & (design.n_no > 0))
    if stuck.size:
        raise NotIdentified(
            f"labels: item {design.name(stuck[0])} and {stuck.size - 1} more were certain to be "
            "asked about options other than this model's prediction (propensity 1), and those were refused: "
            "nothing follows for this model; also ask about its predictions"
        )
    success = np.where(settled, hit_yes, ~design.has_yes)
    width = design.width
    cell = design.group.astype(np.int64) * width + np.where(settled, 0, design.n_no + design.has_yes)
    counts = np.bincount(cell[use] * 2 + success[use], minlength=design.K.size * width * 2)
    return counts.reshape(design.K.size, width, 2)


def _used_labels(design: Design, y: AnyIntArray) -> tuple[list[int], list[int]]:
    """Yes and no labels by group, without those on failed predictions."""
    yes, no = design.n_labels
    failed = y == FAILED
    if failed.any():
        rows = np.flatnonzero(failed[design.item])
        items, said = design.item[rows], design.yes[rows]
        yes, no = yes - _by_group(design, items[said]), no - _by_group(design, items[~said])
    return yes.tolist(), no.tolist()


def _by_group(design: Design, items: AnyIntArray) -> list[int]:
    counts: list[int] = np.bincount(design.group[items], minlength=design.K.size).tolist()
    return counts


def _sample(K: float, counts: IntArray) -> BinomialSample:
    failures, successes = counts.tolist()
    return BinomialSample(K, failures + successes, successes)


def tally_pool(predictions: PredictionColumns, labels: LabelColumns, strata: Strata) -> Tallies:
    """Tallies whose strata are weighted by their share of all predictions that did not fail."""
    _check_drawn(predictions, labels)
    found = find_strata(predictions, labels, strata)
    tallies = tally_columns(predictions, labels, found)
    if found is None:
        return tallies
    for place in np.flatnonzero(predictions.is_there & (found.code < 0)):
        row, name = np.count_nonzero(predictions.is_there[:place]), predictions.index.ids[place]
        raise EstimateError(f"strata: predictions[{row}], item {name!r}, has no stratum")
    number = np.bincount(found.code[predictions.ran], minlength=len(found.names)).tolist()
    return replace(tallies, pool={name: n for name, n in zip(found.names, number, strict=True) if n})


def _check_drawn(predictions: PredictionColumns, labels: LabelColumns) -> None:
    """Raise an error for answers that followed predictions in a way that this likelihood does not cover."""
    propensity = labels.questions.propensity
    for row in np.flatnonzero((labels.questions.offered.number > 0) & (propensity < 1)):
        raise NotIdentified(
            f"labels[{row}]: options were drawn with propensities that differ ({propensity[row]:.3g} "
            "for the one asked about); weigh by them: routed_pool, then routed_accuracy"
        )
    if not ((propensity == 1) & (predictions.option[labels.item] == labels.option)).all():
        return
    unreadable = np.flatnonzero(predictions.is_unreadable)
    if unreadable.size:
        raise NotIdentified(
            f"predictions: {unreadable.size} unreadable, such as item "
            f"{predictions.index.ids[unreadable[0]]!r}, were never asked about, so the estimate would omit "
            "them although they are wrong; use routed_pool, then routed_accuracy, to count them"
        )
