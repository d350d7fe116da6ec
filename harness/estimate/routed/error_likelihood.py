"""Accuracy from fallible experts, by the likelihood of all that is known of their errors.

A question about an option that is true with probability τ, put to y + m experts who judge it one by one with
sensitivity s and specificity t, is answered yes by y of them with a probability proportional to

    τ s^y (1 − s)^m + (1 − τ) (1 − t)^y t^m.

τ is A for a model's prediction, (1 − A)/(K − 1) for another option, 1 and 0 for gold. Questions with a second
expert and without tell A, s and t together (Hui & Walter 1980, Biometrics 36, with the relation of the two
prevalences known); where they do not, ranges of s and t bound A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import chi2_tail, find_root, sign_p_value
from oversight.harness.estimate.intervals import effective_size, scale_by_share
from oversight.harness.estimate.routed.annotator_error import GoldCounts
from oversight.harness.estimate.routed.gold_score import independent_share
from oversight.harness.estimate.routed.means import t_quantile
from oversight.harness.estimate.routed.routed_sample import RoutedSample
from oversight.harness.types import Estimate, Interval

ERROR_ASSUMPTIONS = (
    "options were drawn with the recorded propensities, before any answer to them",
    "experts err equally often, whatever the model predicts, and better than a coin",
)
SECOND_ASSUMPTIONS = (
    *ERROR_ASSUMPTIONS,
    "two experts of a question judge it independently, given the truth",
)
_GRID = np.linspace(0.0, 1.0, 501)
_STARTS = ((0.95, 0.97), (0.75, 0.75))
_ROUNDS = 2000
_CLOSE = 1e-6
_TINY = 1e-12
_FEW = 3
"""Cells in which fewer are expected make a deviance too large too often."""
_DOUBT = 0.01
"""Level of the tests of what two experts are taken to be; what fails is withheld."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRanges:
    """What is known of experts' errors beforehand, and answers to gold.

    Attributes
    ----------
    sensitivity, specificity
        Least and greatest value, within [½, 1].
    gold_true, gold_false
        Gold questions about the true option, and about a false one: (yes, no).

    Raises
    ------
    EstimateError
        If a range is empty or leaves [½, 1].
    """

    sensitivity: tuple[float, float] = (0.5, 1.0)
    specificity: tuple[float, float] = (0.5, 1.0)
    gold_true: tuple[int, int] = (0, 0)
    gold_false: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        for name in ("sensitivity", "specificity"):
            low, high = getattr(self, name)
            if not 0.5 <= low <= high <= 1:
                raise EstimateError(f"{name} must be a range within 0.5 and 1, is {low:g} to {high:g}")

    @property
    def gold(self) -> GoldCounts | None:
        """The answers to gold, if there are some of both kinds."""
        (right, missed), (false_yes, true_no) = self.gold_true, self.gold_false
        if not (right + missed and false_yes + true_no):
            return None
        return GoldCounts(right, right + missed, true_no, true_no + false_yes)


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts of questions: of which prevalence (base + slope·A), with so many yes and no."""

    count: FloatArray
    yes: FloatArray
    no: FloatArray
    base: FloatArray
    slope: FloatArray

    def split(self, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(pattern, true) and P(pattern, false) at every A of the grid; one order of the answers."""
        tau = self.base + _GRID[:, None] * self.slope
        s, t = s[:, None], t[:, None]
        return tau * s**self.yes * (1 - s) ** self.no, (1 - tau) * (1 - t) ** self.yes * t**self.no


def bounded_accuracy(
    predicted: IntArray,
    data: RoutedSample,
    second: IntArray,
    known: ErrorRanges,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> Estimate:
    """Accuracy by maximum likelihood in A, s and t, and the interval of its profile likelihood ratio.

    A is kept while twice the log-likelihood that it loses is within the quantile of ½χ²₁ + ½χ²₂: rates may
    lie at the ends of their ranges, and no corner makes the ratio larger than that mixture (Self & Liang
    1987, JASA 82, in the plane of the two frequencies); or within the square of Student's t where few
    questions have a second expert. Where ranges only bound A, the interval covers all that is as likely.
    Unreadable predictions are wrong.

    Parameters
    ----------
    predicted, data
        As for `gold_accuracy`: one question an item, uniform or about the prediction.
    second
        What a second expert said to each of the questions of `data`: 1, 0, or −1 for none.
    cluster
        Shape (N,): number of the item's cluster; see `gold_accuracy`.

    Raises
    ------
    NotIdentified
        If second experts contradict what is assumed of them, or all accuracies are as likely.
    """
    readable = predicted >= 0
    cells, doubles = _count(predicted, data, second, known)
    if doubles:
        _check_exchangeable(data, second)
    likelihood, rates = _profile(cells, known)
    best, part = int(np.argmax(likelihood)), 1.0
    if cluster is not None:
        found = float(_GRID[best]), float(rates[0][best]), float(rates[1][best])
        part = independent_share(predicted, data, found, cluster, level)
        cells = replace(cells, count=np.where(cells.slope != 0, cells.count * part, cells.count))
        likelihood, rates = _profile(cells, known)
        best = int(np.argmax(likelihood))
    if doubles:
        _check_fit(cells, rates[0][best], rates[1][best], float(_GRID[best]))
    loss = 2 * (likelihood[best] - likelihood)
    quantile = t_quantile(level, max(1, int(part * (doubles or readable.sum())) - 1))
    kept = np.flatnonzero(loss <= max(quantile**2, _mixed_quantile(level)))
    step = _GRID[1]
    low, high = max(0.0, _GRID[kept.min()] - step), min(1.0, _GRID[kept.max()] + step)
    if low == 0 and high == 1:
        raise NotIdentified(
            "what is known of experts' errors leaves every accuracy possible; add gold items, or put more "
            "questions to a second expert"
        )
    value, share = float(_GRID[best]), float(readable.mean())
    if share < 1:
        n = len(predicted) if cluster is None else effective_size(readable.astype(float), cluster, level)
        value, low, high = scale_by_share(share, n, value, low, high, level)
    return Estimate.from_interval(
        value=value,
        interval=Interval(low=float(low), high=float(high), level=level, method="profile-likelihood"),
        estimator="hui_walter" if doubles else "bounded",
        n=data.counts,
        assumptions=SECOND_ASSUMPTIONS if doubles else ERROR_ASSUMPTIONS,
    )


def _mixed_quantile(level: float) -> float:
    """Quantile of the equal mixture of χ² with one and with two degrees of freedom."""
    return find_root(lambda x: (chi2_tail(x, 1) + chi2_tail(x, 2)) / 2 - (1 - level), 0.0, 100.0)


def _count(
    predicted: IntArray, data: RoutedSample, second: IntArray, known: ErrorRanges
) -> tuple[_Cells, int]:
    """The cells, and how many of the model's questions have a second answer."""
    of = predicted[data.item]
    hit, there, yes = of == data.asked, of >= 0, data.answer > 0.5
    K, rows = int(data.n_options[0]), list[tuple[float, int, int, float, float]]()
    for base, slope, which in ((0.0, 1.0, hit & there), (1 / (K - 1), -1 / (K - 1), ~hit & there)):
        for said in (True, False):
            own = which & (yes == said)
            rows.append((float((own & (second < 0)).sum()), int(said), int(not said), base, slope))
            for again in (1, 0):
                n = float((own & (second == again)).sum())
                rows.append((n, said + again, 2 - said - again, base, slope))
    for base, (n_yes, n_no) in ((1.0, known.gold_true), (0.0, known.gold_false)):
        rows += [(n_yes, 1, 0, base, 0.0), (n_no, 0, 1, base, 0.0)]
    columns = np.array([row for row in rows if row[0]], dtype=np.float64).T
    return _Cells(*columns), int(((second >= 0) & there).sum())


def _profile(cells: _Cells, known: ErrorRanges) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """The greatest log-likelihood at every A of the grid, and the rates s and t that give it, by EM."""
    flat = np.zeros_like(_GRID)
    best: FloatArray = flat - np.inf
    found: tuple[FloatArray, FloatArray] = flat, flat
    for start in _STARTS:
        s: FloatArray = np.clip(flat + start[0], *known.sensitivity)
        t: FloatArray = np.clip(flat + start[1], *known.specificity)
        likelihood, before = flat - np.inf, flat - np.inf
        for _ in range(_ROUNDS):
            true, false = cells.split(s, t)
            both = np.maximum(true + false, _TINY)
            before, likelihood = likelihood, (cells.count * np.log(both)).sum(axis=1)
            if float((likelihood - before).max()) < _CLOSE:
                break
            is_true = cells.count * true / both
            is_false = cells.count - is_true
            s = np.clip(_ratio(is_true, cells.yes, cells.no, s), *known.sensitivity)
            t = np.clip(_ratio(is_false, cells.no, cells.yes, t), *known.specificity)
        better = likelihood > best
        best = np.where(better, likelihood, best)
        found = np.where(better, s, found[0]), np.where(better, t, found[1])
    return best, found


def _ratio(weight: FloatArray, successes: FloatArray, failures: FloatArray, kept: FloatArray) -> FloatArray:
    """Share of successes among weighted answers; what was there before where there are none."""
    of = (weight * (successes + failures)).sum(axis=1)
    made: FloatArray = np.where(of > _TINY, (weight * successes).sum(axis=1) / np.maximum(of, _TINY), kept)
    return made


def _check_exchangeable(data: RoutedSample, second: IntArray) -> None:
    """Whether first and second experts say yes equally often where they differ, by a sign test."""
    first = data.answer > 0.5
    more, fewer = int((first & (second == 0)).sum()), int((~first & (second == 1)).sum())
    if more + fewer and sign_p_value(more, fewer) < _DOUBT:
        raise NotIdentified(
            f"second experts are not like the first: where they differ, the first said yes {more} times and "
            f"the second {fewer} times, so that they do not err equally often"
        )


def _check_fit(cells: _Cells, s: float, t: float, A: float) -> None:
    """Whether the answers are as two independent experts with these rates would give them (deviance)."""
    deviance, free = 0.0, -3
    tau = cells.base + A * cells.slope
    for slope in np.unique(cells.slope[cells.slope != 0]):
        for size in (1, 2):
            group = (cells.slope == slope) & (cells.yes + cells.no == size)
            seen = [float(cells.count[group & (cells.yes == yes)].sum()) for yes in range(size + 1)]
            if not sum(seen):
                continue
            share = float(tau[group][0])
            chance = [_chance(size, yes, s, t, share) for yes in range(size + 1)]
            merged = _merge_rare(seen, [sum(seen) * each for each in chance])
            deviance += sum(2 * x * np.log(x / mean) for x, mean in merged if x)
            free += max(0, len(merged) - 1)
    if free > 0 and chi2_tail(float(deviance), free) < _DOUBT:
        raise NotIdentified(
            "the answers are not those of two experts who judge independently with equal error rates "
            f"(deviance {deviance:.1f} with {free} degrees of freedom); add gold items"
        )


def _chance(size: int, yes: int, s: float, t: float, tau: float) -> float:
    """P(so many yes of one or two experts)."""
    true = s**yes * (1 - s) ** (size - yes)
    false = (1 - t) ** yes * t ** (size - yes)
    return comb(size, yes) * (tau * true + (1 - tau) * false)


def _merge_rare(seen: Sequence[float], expected: Sequence[float]) -> list[tuple[float, float]]:
    """Cells as pairs of seen and expected, those with few expected joined to the next."""
    found, x, mean = list[tuple[float, float]](), 0.0, 0.0
    for one, of in zip(seen, expected, strict=True):
        x, mean = x + one, mean + of
        if mean >= _FEW:
            found.append((x, mean))
            x = mean = 0.0
    if found and mean:
        last = found.pop()
        found.append((last[0] + x, last[1] + mean))
    return found
