"""Counts of hits and misses, and the `Estimate` that they give with any estimator.

`Tally` and `Tallies` hold all counts that the estimators of a fixed design need. `estimate_tallies` turns
them into an `Estimate`, with one stratum or several.

**Conditioning.** Items are counted in one of two ways, which both give independent binomial samples
(`BinomialSample`):

``answers``
    Items with a yes (the truth is known: K = 2), and items with refusals only (K' depends on how many).
    Valid if the asked option was drawn uniformly, or if an ordinary and a complementary set of fixed sizes
    were collected: the paper's n_o, S_o, n_c, S_c.
``questions``
    Items whose predicted option was asked about (K = 2), and items with questions about other options only.
    Valid for every design that satisfies the conditions of `oversight.harness.estimate.estimators`, for
    example questions about the prediction itself, for which conditioning on the answers would leave no
    information.

``auto`` uses ``answers`` if the protocol draws uniformly; without a protocol, if the recorded propensities
are those of a uniform draw. The likelihood, and so the ML estimate, is the same for both; `ord`, `comp` and
the intervals differ. Several questions about one item are one trial, because items are counted, and not
questions.

**Strata** are weighted by their share of the predictions, or of the labelled items. The interval of the sum
uses the method of variance estimates recovery (MOVER; Zou & Donner 2008, Statistics in Medicine 27): the
distances of each part's limits from its estimate are squared and added. So the interval keeps the asymmetry
and the small-sample corrections of its parts, which value ± z·se does not. It is approximate, even with exact
parts: by enumeration, two strata of 12 to 60 items have a mean coverage of .96. The lowest coverage is .93,
or .915 if a stratum has only 12 items.

Strata may come from a model's own confidence (`stratify_by_confidence`). If the model is more confident on
items that it answers correctly, accuracies differ between strata, and the variance of the estimate does not
contain that difference. Strata depend on the predictions alone, so the estimate stays unbiased for any
calibration of the confidence; a useless confidence widens the interval a little (post-stratification, Holt &
Smith 1979, JRSS A 142).

**Unreadable predictions** are wrong, but must not enter the likelihood as known wrong answers. An unreadable
prediction is known to be wrong with certainty, but a readable one only if the right question happened to be
asked. So wrong predictions would be over-represented among predictions of known correctness, and the estimate
too low. With A = .6 and 20 % unreadable, it would be too low by 14 points for K = 4, and by 35 for K = 10,
for any number of labels. Instead A = ρ A_r: the readable share of the labelled items times the accuracy of
the readable predictions.
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
    YES,
    AnyLabels,
    AnyPredictions,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align,
)
from oversight.harness.errors import EstimateError, NotIdentified, WrongType
from oversight.harness.estimate.core import (
    BinomialSample,
    blaker,
    check_counts,
    check_known,
    check_level,
    chi2_tail,
    effective_options,
    mover_sum,
    z_value,
)
from oversight.harness.estimate.decoding import UNIFORM_ASSUMPTIONS
from oversight.harness.estimate.estimators import POINTS, make_point, pool_samples
from oversight.harness.estimate.intervals import INTERVALS, make_interval, scale_by_share, weighted_score
from oversight.harness.estimate.tilting import join_rows, tilted_score, uniform_rows
from oversight.harness.output import counted
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
    """Accuracy estimate for one stratum, or for several strata combined.

    Attributes
    ----------
    stratum
        Name of the stratum; empty without one.
    n
        Number of labelled items; 0 for combined strata.
    value, se
        Estimated accuracy, and its standard error; the standard error is None if unknown.
    interval
        Confidence interval, with its notes.
    """

    stratum: str = ""
    n: int = 0
    value: float
    se: float | None
    interval: Interval


def combine_strata(
    parts: Sequence[StratumEstimate], level: float, pool: Mapping[str, int] | None
) -> StratumEstimate:
    """Combine stratum estimates into a weighted mean with a MOVER interval; `pool` as in `Tallies`."""
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
            why="the interval combines one interval per stratum, and covers less than its level if strata "
            "are small; the exact interval does not",
        ),
    )


def _weigh(parts: Sequence[StratumEstimate], pool: Mapping[str, int] | None) -> tuple[list[float], float]:
    """Return every part's weight, and the extra variance that is due to estimating weights from a sample."""
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
    """Return the estimate 0 for a stratum of n labelled items whose predictions are all unreadable."""
    low, high = blaker(0, n, level)
    none = Interval(low=low, high=high, level=level, method="blaker", notes=(Note(NoteKind.ALL_UNREADABLE),))
    return StratumEstimate(stratum=stratum, n=n, value=0.0, se=None, interval=none)


def with_unreadable(
    value: float, se: float | None, made: Interval, rho: float, size: float, n: int, stratum: str = ""
) -> StratumEstimate:
    """Estimate accuracy A = ρ A_r from the readable share ρ and the accuracy A_r on readable predictions.

    Parameters
    ----------
    value, se, made
        Estimate of A_r, its standard error, and its interval.
    rho
        Share ρ of labelled items with a readable prediction.
    size
        Effective sample size for ρ: the number of equally weighted items that give ρ the same precision.
    n, stratum
        Number of labelled items, and name of the stratum.
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
"""Condition of the binomial samples; see `oversight.harness.estimate.tallies`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Sufficient counts of one model on the items of one stratum with K options.

    Attributes
    ----------
    K
        Number of options of every item.
    stratum
        Name of the stratum; empty without one.
    split
        What the samples are conditioned on: ``answers`` or ``questions`` (see the module).
    hits
        n_o, the number of items whose labels determine whether the readable prediction is right; and S_o, the
        number of these items on which it is right.
    misses
        n_c and S_c for each effective number of options K': number of items of which only refused options are
        known, and number of these items whose prediction was not refused.
    n_yes, n_no
        Numbers of "yes" and "no" labels on items whose prediction did not fail, readable or not.
    n_unreadable
        Number of labelled items whose prediction names no option; these predictions count as wrong.
    n_failed
        Number of labelled items whose prediction failed; these items are excluded.
    n_abstained
        Number of labels that are abstentions; they count as missing answers.
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
        """Four counts of items with one question and a readable prediction, by option asked about and answer.

        The order is: yes about the prediction; no about the prediction; no about another option; yes about
        another option.
        """
        wrong, refused = self.hits.n - self.hits.S, sum(m.n - m.S for m in self.misses)
        if self.split == "answers":
            return self.hits.S, refused, self.S_c, wrong
        return self.hits.S, wrong, self.S_c, refused

    def add(self, other: Tally) -> Tally:
        """Add a tally with the same K and split; the sum has no stratum name."""
        return replace(
            self,
            stratum="",
            hits=BinomialSample(2, self.hits.n + other.hits.n, self.hits.S + other.hits.S),
            misses=pool_samples((*self.misses, *other.misses)),
            **{name: getattr(self, name) + getattr(other, name) for name in _COUNTED},
        )

    @property
    def n_o(self) -> int:
        """Number of items whose labels determine whether the readable prediction is right."""
        return self.hits.n

    @property
    def S_o(self) -> int:  # noqa: N802  the source's name
        """Number of right predictions among the `n_o` items."""
        return self.hits.S

    @property
    def n_c(self) -> int:
        """Number of items of which only refused options are known."""
        return sum(m.n for m in self.misses)

    @property
    def S_c(self) -> int:  # noqa: N802  the source's name
        """Number of the `n_c` items whose prediction was not refused."""
        return sum(m.S for m in self.misses)

    @property
    def n_readable(self) -> int:
        """Number of labelled items with a readable prediction."""
        return self.n_o + self.n_c

    @property
    def n_labelled(self) -> int:
        """Number of labelled items whose prediction did not fail."""
        return self.n_readable + self.n_unreadable

    def __str__(self) -> str:
        """Return the name of the stratum and K, as text for a message."""
        return f"stratum {self.stratum!r}, K = {self.K}" if self.stratum else f"K = {self.K}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """All tallies of one model.

    Attributes
    ----------
    strata
        One tally for every stratum and number of options.
    n_unlabelled
        Number of the model's predictions on items without a label.
    pool
        Number of predictions in every named stratum, used as its weight. If None, strata are weighted by
        their number of labelled items.
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
    """Estimate accuracy from existing tallies, without counting the labels again.

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
    check_known("estimator", estimator, POINTS)
    check_known("interval", method, INTERVALS)
    used = [t for t in tallies.strata if t.n_labelled]
    if not used:
        raise EstimateError(
            "labels must contain a yes or no about a prediction that did not fail, but contain none"
        )
    for name in tallies.pool or ():
        if all(t.stratum != name for t in used):
            raise EstimateError(
                f"strata: the stratum {name!r} has predictions but no usable label, so its accuracy cannot "
                "be estimated"
            )
    # The exact interval tests all strata jointly. Other intervals are computed per stratum, then combined.
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
    """Estimate the accuracy A = ρ A_r in one stratum.

    ρ is the share of readable predictions, and A_r their accuracy (see `with_unreadable`).

    If it is known for every labelled item whether the prediction is right (K = 2, or all predictions asked
    about), the exact interval is Blaker's for one binomial sample. Otherwise it is the interval of A_r,
    scaled by `scale_by_share` if some labelled predictions are unreadable.

    Raises
    ------
    EstimateError
        If the estimator is undefined for the counts of the stratum; the message names the stratum.
    """
    n = tally.n_labelled
    if tally.n_readable == 0:
        return none_readable(tally.stratum, n, level)
    scale = tally.n_readable / n, n, n, tally.stratum
    try:
        p = make_point(estimator, tally.hits, tally.misses, published=published)
        if method == "exact" and len(p.parts) == 1 and p.parts[0].K == 2 and p.parts[0].n == tally.n_readable:
            # Every item is known to be right or wrong (wrong if unreadable), so one binomial is enough.
            low, high = blaker(p.parts[0].S, n, level)
            whole = Interval(low=low, high=high, level=level, method="blaker", notes=p.notes)
            return replace(with_unreadable(p.value, p.se, whole, *scale), interval=whole)
        made = make_interval(p, method, level)
    except EstimateError as error:
        raise type(error)(f"{tally}: {error}") from error
    return with_unreadable(p.value, p.se, replace(made, notes=p.notes + made.notes), *scale)


_LIKELY = 0.2
"""Smallest p-value of the χ² test of proportional labelling at which labelling counts as proportional."""


def merge_tallies(used: Sequence[Tally], pool: Mapping[str, int] | None) -> list[tuple[float, Tally]]:
    """Merge tallies whose items have the same weight and number of options; return pairs (weight, tally).

    A merged tally has exactly the distribution of a single stratum, even if accuracies differ between the
    merged strata. So small strata do not widen the interval.
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
    """Return whether the numbers of labelled items by stratum are compatible with a random draw.

    If they are, all items get equal weights. Weights that only correct the randomness of the draw would widen
    the interval without removing any bias.
    """
    share = sum(labelled.values()) / sum(pool[name] for name in labelled)
    statistic = math.fsum(
        (n - share * pool[name]) ** 2 / (share * pool[name]) for name, n in labelled.items()
    )
    return chi2_tail(statistic, max(1, len(labelled) - 1)) >= _LIKELY


def estimate_groups(groups: Sequence[tuple[float, Tally]], estimator: str, level: float) -> StratumEstimate:
    """Estimate the weighted mean accuracy of several groups by one joint test.

    The test is `weighted_score` for ``ord`` and ``comp``, and for any estimator if some items have several
    refused options. In every other case it is `tilted_score`. `groups` contains pairs (weight, tally).
    Weights and K of the groups can differ.
    """
    readable = [(w, t) for w, t in groups if t.n_readable]
    n, carried = sum(t.n_labelled for _, t in groups), sum(t.n_readable for _, t in groups)
    if not readable:
        return none_readable("", n, level)
    share = math.fsum(w * t.n_readable for w, t in readable)
    points = [(w * t.n_readable / share, make_point(estimator, t.hits, t.misses)) for w, t in readable]
    if estimator not in ("ord", "comp") and all(c.K == t.K for _, t in readable for c in t.misses):
        rows = join_rows([uniform_rows(t.K, t.outcomes, w / share) for w, t in readable])
        found = tilted_score(rows, level)
        value, low, high, se, method = found.value, found.low, found.high, found.se, "tilted-score"
    else:
        shares = [(w, point.components) for w, point in points]
        (value, low, high, se), method = weighted_score(shares, level), "weighted-score"
    if estimator in ("ivw", "ivw_half"):
        value = math.fsum(w * p.value for w, p in points)
    notes: tuple[Note, ...] = () if 0 <= value <= 1 else (Note(NoteKind.OUT_OF_RANGE),)
    if not low <= min(1.0, max(0.0, value)) <= high:
        notes += (Note(NoteKind.VALUE_OUTSIDE_INTERVAL),)
    made = Interval(low=low, high=high, level=level, method=method, notes=notes)
    # The interval of the readable share needs a number of items; unequal weights make this number smaller.
    size = n if carried == n else 1 / math.fsum(w**2 * t.n_labelled for w, t in groups)
    return with_unreadable(value, se, made, share if carried < n else 1.0, size, n)


class Estimates(Displayable, dict[str, Estimate]):
    """Estimates by estimator name; `undefined` gives the reason for every missing estimator.

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
        """Return one row per estimator; the row of an undefined estimator has only the reason, as ``why``."""
        made = [e.records()[0] | {"estimator": name} for name, e in self.items()]
        return [*made, *({"estimator": name, "why": why} for name, why in self.undefined.items())]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML for a notebook."""
        return (estimate_table(self, self.undefined, title=""),)

    @property
    def headline(self) -> str:
        """The estimate to quote, or the reason why no estimate exists."""
        quoted = main_estimate(self)
        reasons = "; ".join(dict.fromkeys(self.undefined.values()))
        return f"no accuracy: {reasons}" if quoted is None else str(quoted)

    def __str__(self) -> str:
        """Show the estimate to quote, and the names of the other estimators."""
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
        """Return one row per model and estimator."""
        return [{"model": name} | row for name, made in self.items() for row in made.records()]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML shown in a notebook: one table per model."""
        return tuple(estimate_table(made, made.undefined, name) for name, made in self.items())

    def __str__(self) -> str:
        """Show one line per model, with the estimate to quote."""
        return "\n".join(f"{name}: {made.headline}" for name, made in self.items())


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
    """Estimate accuracy from the counts of ordinary labels and of complementary labels on different items.

    Parameters
    ----------
    K
        Number of options, ≥ 2.
    S_o, n_o
        Number of right predictions among the items with an ordinary label, and number of these items.
    S_c, n_c
        Number of predictions that are not the refused option ("weakly correct") among the items with a
        complementary label, and number of these items.
    level
        Confidence level, in (0, 1).
    interval
        A name of `intervals.INTERVALS`; by default ``exact``, or ``wald`` if `published`.
    published
        Whether to follow the conventions of "Towards Scalable Oversight via Partitioned Human Supervision".

    Returns
    -------
    Estimates
        ``ord``, ``comp``, ``ivw_half``, ``ivw``, ``ml``; `undefined` maps missing estimates to the reasons.

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
    check_level(level)
    if interval is not None:
        check_known("interval", interval, INTERVALS)
    found: dict[str, Estimate] = {}
    undefined: dict[str, str] = {}
    for name in POINTS:
        try:
            found[name] = estimate_tallies(
                Tallies(strata=(one,)), estimator=name, interval=interval, level=level, published=published
            )
        except EstimateError as error:
            undefined[name] = str(error)
    if not found:
        raise EstimateError(f"no estimator is defined: {undefined['ml']}")
    return Estimates(found, undefined)


CONFIDENCE: Literal["confidence"] = "confidence"
"""Value of `strata` that stratifies items by the model's own confidence."""

Strata = Mapping[str, str] | ItemValues | Literal["confidence"] | None
"""Stratum of every item, by item id or by position in the index, or `CONFIDENCE`.

Strata are weighted by their share of the predictions, so strata may be labelled at different rates.
"""


MOST_STRATA = 5
LABELS_EACH = 40
"""Smallest mean number of labels per confidence stratum; smaller strata give too imprecise estimates."""


def stratify_by_confidence(predictions: PredictionColumns, n_labels: int) -> ItemValues:
    """Cut predictions into strata of about equal size by their confidence.

    Parameters
    ----------
    predictions
        All predictions; a prediction without a confidence counts as the least confident.
    n_labels
        Number of labels; it limits the number of strata to one per `LABELS_EACH` labels.

    Returns
    -------
    ItemValues
        ``"confidence 1"`` (lowest) to at most ``"confidence 5"``. Items of equal confidence share a stratum.

    Raises
    ------
    EstimateError
        If no prediction has a confidence.
    """
    if predictions.confidence is None:
        raise EstimateError(
            "strata: no prediction has a confidence; run the model with logprobs = true or samples > 1, if "
            "its endpoint supports that"
        )
    sure = np.nan_to_num(predictions.confidence[predictions.is_there], nan=-1.0)
    k = max(1, min(MOST_STRATA, n_labels // LABELS_EACH))
    ends = np.quantile(sure, np.arange(1, k) / k, method="inverted_cdf")
    code = np.full(predictions.index.size, -1, dtype=np.int64)
    code[predictions.is_there] = np.searchsorted(np.unique(ends), sure, side="left")
    return ItemValues(code=code, names=[f"confidence {s + 1}" for s in range(k)])


def find_strata(predictions: PredictionColumns, labels: LabelColumns, strata: Strata) -> ItemValues | None:
    """Return the stratum of every item, as given or formed by the model's confidence; None without strata.

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
    if strata is not None and not isinstance(strata, ItemValues | Mapping):
        raise WrongType("strata", "a dictionary of item id to stratum, or 'confidence'", strata)
    return ItemValues.of(strata, labels.index) if isinstance(strata, Mapping) else strata


def check_labels(predictions: PredictionColumns, labels: LabelColumns) -> None:
    """Raise an error for labels that cannot be tallied.

    Raises
    ------
    EstimateError
        If predictions or labels are empty, a labelled item has no prediction, a value is out of range, or
        labels of one item differ in their number of options. The message names row and value.
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
            f"labels[{row}]: n_options of item {name!r} must be {first[row]} as in its first label, is "
            f"{k[row]}"
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
"""Propensities count as equal if they differ by less than this."""


class Design:
    """The labels of a study, checked and collected by item, without any model's predictions.

    Attributes
    ----------
    labels
        The original labels, including abstentions.
    item, option
        Shape (L,): index among labelled items (`LabelColumns.places`) and option of every yes or no label.
    yes
        Shape (L,): whether that label is a yes.
    group
        Shape (n_items,): group of every item, 0..G−1; items of a group share the stratum and K.
    K, strata
        Shape (G,): number of options and name of the stratum of every group.
    n_no, has_yes
        Shape (n_items,): number of refused options, and whether the item has a yes.
    certain
        Shape (n_items,): whether the item has a yes or no and all its questions had propensity 1.
    split
        What each group's samples are conditioned on: ``answers`` or ``questions`` (see the module).
    mute
        Item and option of every abstention.
    labelled
        Shape (n_items,): whether the item has a yes or a no.
    width
        One more than the largest number of answered questions about one item.
    cell
        Shape (n_items,): g·width + m for an item of group g with m refused options; m is 0 if the item has a
        yes.
    total
        Shape (G·width,): number of labelled items in every cell.
    decisive
        Shape (L,): whether the label counts if samples are conditioned on answers: a yes, or a no on an item
        without a yes.
    n_labels
        Number of "yes" labels in every group, and number of "no" labels.

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
        keep = slice(None) if rows.size == len(labels) else rows  # indexing with a slice copies nothing
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
        """Return the quoted id of an item for a message."""
        return repr(self.labels.index.ids[int(self.labels.places[item])])

    def _check_one_answer(self, rows: AnyIntArray) -> None:
        """Refuse two answers to one question; `rows` are the positions of yes and no labels in `labels`."""
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
            f"{what} must have one answer, has two; give the answer of only one expert per question"
        )

    def _check_one_truth(self, n_yes: AnyIntArray) -> None:
        """Refuse items with two true options, or with all options refused."""
        for i in np.flatnonzero(n_yes > 1):
            options = self.option[(self.item == i) & self.yes].tolist()
            raise EstimateError(
                f"labels: item {self.name(i)} must have one true option, has yes for {options}"
            )
        K = self.labels.n_options
        for i in np.flatnonzero(self.n_no >= K):
            raise EstimateError(f"labels: item {self.name(i)} has a no for all its {K[i]} options")


_gather_design = lru_cache(maxsize=2)(Design)
"""Make a `Design`, cached for models that are evaluated in turn on the same labels."""


def _groups(
    labels: LabelColumns, strata: ItemValues | None
) -> tuple[AnyIntArray, AnyIntArray, tuple[str, ...]]:
    """Group labelled items by stratum and K; return every item's group, and every group's K and stratum."""
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
    """Choose what each group's samples are conditioned on: ``answers`` or ``questions`` (see the module)."""
    if split == "auto" and labels.statements and labels.is_uniform:
        # The protocol draws uniformly, even if all K options were drawn and some questions are still open.
        split = "answers"
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
    """Return whether the propensities are compatible with options drawn uniformly.

    Uniform propensities are m/K if m of K options are drawn, 1/(K−1) for a wrong option drawn when the truth
    is known, and 1 for the known truth. A refused option that was certain to be asked about is not a uniform
    draw, unless all K options were asked about.
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
    """Count the predictions of one model that labels show to be right or wrong.

    Parameters
    ----------
    predictions
        One prediction per item.
    labels
        Any number of labels per item, but at most one per option; every labelled item needs a prediction.
    strata
        Stratum of every labelled item, by id.
    split
        What the samples are conditioned on: ``answers``, ``questions`` or ``auto`` (see the module).

    Raises
    ------
    EstimateError
        If something is missing, duplicated, contradictory or out of range; the message names row and value.
    NotIdentified
        If no question about an item could be about its prediction, and experts refused all options asked
        about.
    """
    predicted, said = align(predictions, labels)
    return tally_columns(predicted, said, find_strata(predicted, said, strata), split)


# for all labels, a subset, and this subset with missing answers filled in as best and as worst
@lru_cache(maxsize=4)
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
    """Count one model's hits and misses in every group; `y` holds its predictions for the labelled items."""
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
    """Count failures and successes by group and number of refused options, shape (G, width, 2).

    Column 0 holds items with a yes: a success if the yes is about the predicted option. Column m holds items
    with m refused options and no yes: a failure if the prediction was refused. Only the labels about the
    model's predictions are counted, which gives one outcome of each column. The other outcome follows by
    subtraction from the column's number of items with a usable prediction.
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
    """Count failures and successes of the items at positions `mine`, by group and by the options asked about.

    The result has shape (G, width, 2). Column 0 counts items whose prediction was confirmed (success) or
    refused (failure). A yes about another option is also a failure in column 0 if all questions about the
    item were certain (propensity 1). Column m counts items with m answers, all about options other than the
    prediction: a failure if one of them is yes. An item is left out if its questions were certain and the
    question about the prediction has no answer. This can bias the estimate if the prediction was asked about
    only after refusals; the abstention check bounds the bias.

    Raises
    ------
    NotIdentified
        If no question about an item could be about its prediction, and experts refused all options asked
        about. The answers then carry no information about the prediction.
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
            "labels: this model's accuracy cannot be estimated, because no question could be about its "
            f"prediction for {counted(stuck.size, 'item')}, such as {design.name(stuck[0])}, and all answers "
            "about them are no; also ask about this model's predictions"
        )
    success = np.where(settled, hit_yes, ~design.has_yes)
    width = design.width
    cell = design.group.astype(np.int64) * width + np.where(settled, 0, design.n_no + design.has_yes)
    counts = np.bincount(cell[use] * 2 + success[use], minlength=design.K.size * width * 2)
    return counts.reshape(design.K.size, width, 2)


def _used_labels(design: Design, y: AnyIntArray) -> tuple[list[int], list[int]]:
    """Return the numbers of "yes" and "no" labels in every group, without items whose prediction failed."""
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
    """Tally one model with strata weighted by their share of all predictions that did not fail.

    Raises
    ------
    EstimateError
        As in `tally`, or if a predicted item has no stratum.
    NotIdentified
        As in `tally`, or if the questions need weights, or unreadable predictions were never asked about.
    """
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
    """Refuse two kinds of design that the likelihood of tallies does not cover.

    In the first, options have unequal propensities. In the second, all questions are about predictions, and
    some predictions are unreadable.
    """
    propensity = labels.questions.propensity
    for row in np.flatnonzero((labels.questions.offered.number > 0) & (propensity < 1)):
        raise NotIdentified(
            f"labels[{row}]: options were drawn with unequal propensities ({propensity[row]:.3g} for the "
            "option asked about); use routed_pool, then routed_accuracy, which weight answers by them"
        )
    if not ((propensity == 1) & (predictions.option[labels.item] == labels.option)).all():
        return
    unreadable = np.flatnonzero(predictions.is_unreadable)
    if unreadable.size:
        raise NotIdentified(
            f"predictions: {unreadable.size} are unreadable, such as the one for item "
            f"{predictions.index.ids[unreadable[0]]!r}; no question was about them, so this estimate would "
            "omit them instead of counting them as wrong; use routed_pool, then routed_accuracy"
        )
