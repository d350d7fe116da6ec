"""The `Estimate` that the tallies of one or several strata give by any estimator.

Strata combined, weighted by their share of the predictions or of the labelled items.

Intervals are those of a sum from the intervals of its independent parts.

For sums the "method of variance estimates recovery" (MOVER) takes from each part's own interval the
variance that part has near its limit, and adds those: unlike value ± z·se it inherits the asymmetry
and the small-sample care of the parts. Source: Zou & Donner, "Construction of confidence limits
about effect measures", Statistics in Medicine 27, 2008. Approximate, also with exact parts:
enumerations with two strata of 12 to 60 items gave a mean coverage of .96 and a least one of .93
(.915 where a stratum had 12).

The `Estimate` that the tallies of one or several strata give by any estimator.

An unreadable prediction is wrong, but it must not enter the likelihood as a known wrong one: it is
resolved with certainty, while a readable wrong prediction is resolved only if the right question
happened to be asked, as is a right one. Wrong predictions would be over-represented among the
resolved and the estimate biased downwards: at A = .6 with 20 % unreadable by 14 points for K = 4
and by 35 for K = 10, however many labels there are. Instead A = ρ A_r: the readable share of the
labelled items times the accuracy on the readable ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    BinomialSample,
    blaker,
    check_counts,
    check_level,
    chi2_tail,
    z_value,
)
from oversight.harness.estimate.data.decoding import UNIFORM_ASSUMPTIONS
from oversight.harness.estimate.estimators import POINTS, check_estimator, make_point
from oversight.harness.estimate.intervals import (
    check_method,
    join_rows,
    make_interval,
    scale_by_share,
    tilted_score,
    uniform_rows,
    weighted_score,
)
from oversight.harness.types import (
    Counts,
    Estimate,
    HtmlTable,
    Interval,
    Note,
    NoteKind,
    Shown,
    estimate_table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumEstimate:
    """Estimate of one stratum or of several; `interval` has its notes.

    Attributes
    ----------
    stratum, n
        Its name, and the labelled items that it rests on.
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
    low, high = mover_sum(inner, lows, highs, weights, z_value(level) ** 2 * between)
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
    """Weight of every part, and the variance that comes from the weights being shares of a sample."""
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


def mover_sum(
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    weights: Sequence[float],
    between: float = 0.0,
) -> tuple[float, float]:
    """Interval of Σ w_h θ_h from independent estimates and their intervals.

    low = θ̂ − √(Σ w_h²(θ̂_h − l_h)² + between), high likewise.

    Parameters
    ----------
    values, lows, highs
        Estimates and ends with low ≤ value ≤ high, one per part.
    weights
        Weights ≥ 0.
    between
        z² Σ w_h(θ̂_h − θ̂)²/N where the weights are themselves shares of a sample of N items;
        0 where they are known.

    Raises
    ------
    EstimateError
        If nothing is given, a weight is negative or an estimate lies outside its interval.
    """
    if not values:
        raise EstimateError("values must hold at least one estimate, is empty")
    for h, (v, lo, hi, w) in enumerate(zip(values, lows, highs, weights, strict=True)):
        if w < 0:
            raise EstimateError(f"weights[{h}] must be ≥ 0, is {w!r}")
        if not lo <= v <= hi:
            raise EstimateError(f"values[{h}] must lie in its interval [{lo}, {hi}], is {v!r}")
    centre = math.fsum(w * v for w, v in zip(weights, values, strict=True))
    below = math.fsum((w * (v - lo)) ** 2 for w, v, lo in zip(weights, values, lows, strict=True))
    above = math.fsum((w * (hi - v)) ** 2 for w, v, hi in zip(weights, values, highs, strict=True))
    return centre - math.sqrt(below + between), centre + math.sqrt(above + between)


def none_readable(stratum: str, n: int, level: float) -> StratumEstimate:
    """The estimate 0 where no labelled prediction names an option."""
    low, high = blaker(0, n, level)
    none = Interval(low=low, high=high, level=level, method="blaker", notes=(Note(NoteKind.ALL_UNREADABLE),))
    return StratumEstimate(stratum=stratum, n=n, value=0.0, se=None, interval=none)


def with_unreadable(
    value: float, se: float | None, made: Interval, rho: float, size: float, n: int, stratum: str = ""
) -> StratumEstimate:
    """A = ρ A_r with its interval (`scale_by_share`), from the accuracy on readable predictions.

    `size` is the number of items of equal weight that would tell the readable share ρ as exactly as these n.
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
"""Which numbers are taken as given; see `oversight.harness.estimate.data.tallies`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Sufficient counts of one model on the items of one stratum with K options.

    Attributes
    ----------
    K
        Options of every item.
    stratum
        Name of the stratum; empty if there are none.
    split
        What the samples are conditioned on.
    hits
        n_o and S_o: items where a label settles whether the (readable) prediction is right.
    misses
        n_c and S_c by effective K': items where options were refused; success: not the prediction.
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
        """Readable items with one question: the prediction asked about, yes and no; another, no and yes."""
        wrong, refused = self.hits.n - self.hits.S, sum(m.n - m.S for m in self.misses)
        if self.split == "answers":
            return self.hits.S, refused, self.S_c, wrong
        return self.hits.S, wrong, self.S_c, refused

    def add(self, other: Tally) -> Tally:
        """Both together, of the same K and split, in a stratum without a name."""
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
        How many of its predictions have no label at all.
    pool
        Number of predictions in every named stratum, by which strata are weighted; None: by their
        labelled items.
    """

    strata: tuple[Tally, ...]
    n_unlabelled: int = 0
    pool: Mapping[str, int] | None = None

    @property
    def counts(self) -> Counts:
        """What was counted, over all strata."""
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
    """Estimate from counts already taken; for many models or label sets at once.

    Parameters
    ----------
    tallies
        From `tally` or `tally_arrays`.
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
        If the stratum has no labelled item or the estimator is undefined for its counts; names
        the stratum.
    """
    n = tally.n_labelled
    if n == 0:
        raise EstimateError(f"{tally}: no labelled item has a prediction, needed is at least 1")
    if tally.n_readable == 0:
        return none_readable(tally.stratum, n, level)
    try:
        p = make_point(estimator, tally.hits, tally.misses, published=published)
        if method == "exact" and len(p.parts) == 1 and p.parts[0].K == 2 and p.parts[0].n == tally.n_readable:
            # every labelled item is settled, unreadable ones too: they are failures of one binomial
            low, high = blaker(p.parts[0].S, n, level)
            made = Interval(low=low, high=high, level=level, method="blaker", notes=p.notes)
            rho = tally.n_readable / n
            return StratumEstimate(
                stratum=tally.stratum,
                n=n,
                value=p.value * rho,
                se=None if p.se is None else math.sqrt((rho * p.se) ** 2 + p.value**2 * rho * (1 - rho) / n),
                interval=made,
            )
        made = make_interval(p, method, level)
    except EstimateError as error:
        raise type(error)(f"{tally}: {error}") from error
    made = replace(made, notes=p.notes + made.notes)
    return with_unreadable(p.value, p.se, made, tally.n_readable / n, n, n, tally.stratum)


_LIKELY = 0.2
"""p of the χ² test of proportional labelling from which on it is taken for that."""


def merge_tallies(used: Sequence[Tally], pool: Mapping[str, int] | None) -> list[tuple[float, Tally]]:
    """Tallies whose items weigh the same and have as many options, added; with the weight of an item.

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
    """Whether strata are labelled about as often as a blind draw from the predictions would.

    Then items weigh the same: weights that only undo the chance of the draw cost width and mend no bias.
    """
    share = sum(labelled.values()) / sum(pool[name] for name in labelled)
    statistic = math.fsum(
        (n - share * pool[name]) ** 2 / (share * pool[name]) for name, n in labelled.items()
    )
    return chi2_tail(statistic, max(1, len(labelled) - 1)) >= _LIKELY


def estimate_groups(groups: Sequence[tuple[float, Tally]], estimator: str, level: float) -> StratumEstimate:
    """Estimate over groups of different K or weight by one test of all, not by an estimate of each.

    For `ml`, with one question an item, the score test of `tilted_score`; else that of `weighted_score`.
    """
    readable = [(w, t) for w, t in groups if t.n_readable]
    n, carried = sum(t.n_labelled for _, t in groups), sum(t.n_readable for _, t in groups)
    if not readable:
        return none_readable("", n, level)
    if estimator in ("ord", "comp"):
        chosen = [(w, t, (t.hits,) if estimator == "ord" else t.misses) for w, t in readable]
        for _, t, _ in chosen:
            make_point(estimator, t.hits, t.misses)  # refuses a group without such labels
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
    if estimator.startswith("ivw"):
        points = [(w * t.n_readable / share, make_point(estimator, t.hits, t.misses)) for w, t in readable]
        value = math.fsum(w * p.value for w, p in points)
    notes: tuple[Note, ...] = () if 0 <= value <= 1 else (Note(NoteKind.OUT_OF_RANGE),)
    if not low <= min(1.0, max(0.0, value)) <= high:
        notes += (Note(NoteKind.VALUE_OUTSIDE_INTERVAL),)
    made = Interval(low=low, high=high, level=level, method=method, notes=notes)
    # unreadable predictions of a group whose items weigh more leave the share less certain
    size = n if carried == n else 1 / math.fsum(w**2 * t.n_labelled for w, t in groups)
    return with_unreadable(value, se, made, share if carried < n else 1.0, size, n)


class Estimates(dict[str, Estimate], Shown):
    """Estimates by estimator name; `undefined` says why an estimator is not among them."""

    def __init__(self, estimates: Mapping[str, Estimate], undefined: Mapping[str, str]) -> None:
        super().__init__(estimates)
        self.undefined: Mapping[str, str] = MappingProxyType(dict(undefined))

    def records(self) -> list[dict[str, Any]]:
        """A row an estimate; one that is undefined has no value, and its reason as `why`."""
        made = [e.records()[0] | {"estimator": name} for name, e in self.items()]
        return [*made, *({"estimator": name, "why": why} for name, why in self.undefined.items())]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        return (estimate_table(self, self.undefined),)


class ModelEstimates(dict[str, Estimates], Shown):
    """All estimates of several models, by the model's name."""

    def records(self) -> list[dict[str, Any]]:
        """A row an estimate."""
        return [{"model": name} | row for name, made in self.items() for row in made.records()]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows: a table a model."""
        return tuple(estimate_table(made, made.undefined, name) for name, made in self.items())


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
    """Estimate accuracy from the sufficient counts of one ordinary and one complementary set.

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
