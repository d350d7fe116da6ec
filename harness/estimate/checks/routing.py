"""Checks of what was asked and of what was answered, against what the protocol promises."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import BoolArray
from oversight.harness.columns import ABSTAINED, YES
from oversight.harness.estimate.checks.check import OPTIONS_ALPHA, Check
from oversight.harness.estimate.core import chi2_tail, two_sided, z_of_sum
from oversight.harness.estimate.data import LabelledArrays

_NEAR = 1e-6


def uniform_single(a: LabelledArrays) -> BoolArray:
    """Labels that are the only question of their item, asked with propensity 1/K."""
    alone = np.bincount(a.item, minlength=a.n_options.size)[a.item] == 1
    chosen: BoolArray = alone & (np.abs(a.asked_with * a.n_options[a.item] - 1) < _NEAR)
    return chosen


def asked_predicted(a: LabelledArrays, alpha: float) -> Check:
    """P(k = ŷ) = 1/K under uniform routing; fails if somebody asked what the model had said.

    Counts every question put, answered or not. z-test on the sum; power .98 for a rate 10 points
    too high at 300 questions.
    """
    text = "the predicted option was asked about {hits} times, expected {expected:.1f}"
    usable = a.y_hat[a.item] >= 0
    return _one_in_k("asked_predicted", a, usable, a.y_hat[a.item] == a.option, alpha, text)


def yes_rate(a: LabelledArrays, alpha: float) -> Check:
    """P(yes) = 1/K under uniform routing; fails if yes is missed or given falsely on balance."""
    text = "{hits} yes among {n} answers, expected {expected:.1f}"
    odd = "; too few: truths were missed, too many: false yes (which ruins ord and ml)"
    return _one_in_k("yes_rate", a, a.kind != ABSTAINED, a.kind == YES, alpha, text, odd)


def _one_in_k(
    name: str, a: LabelledArrays, usable: BoolArray, hit: BoolArray, alpha: float, text: str, odd: str = ""
) -> Check:
    """z-test that usable single questions hit with probability 1/K; `odd` is added where it fails."""
    mine = uniform_single(a) & usable
    if not mine.any():
        return Check.not_made(name, "no item with one uniformly drawn question")
    share = 1 / a.n_options[a.item[mine]]
    hits, expected = int(np.count_nonzero(hit[mine])), float(share.sum())
    z = z_of_sum(hits, expected, float((share * (1 - share)).sum()))
    text = text.format(hits=hits, n=share.size, expected=expected)
    return Check.of_test(name, z, two_sided(z), alpha, text, odd)


def asked_options(a: LabelledArrays) -> Check:
    """Each option (so each expert) asked equally often under uniform routing: χ² with Σ(K − 1) df.

    Blind to questions chosen by difficulty; `asked_predicted` sees those.
    """
    name = "asked_options"
    mine = uniform_single(a)
    statistic, df = 0.0, 0
    for K in np.unique(a.n_options).tolist():
        counts = np.bincount(a.option[mine & (a.n_options[a.item] == K)], minlength=K)
        expected = counts.sum() / K
        if expected >= 5:
            statistic += float(((counts - expected) ** 2).sum() / expected)
            df += K - 1
    if df == 0:
        return Check.not_made(name, "fewer than 5 uniformly drawn questions per option")
    text = f"options asked about: χ² = {statistic:.1f} on {df} df"
    return Check.of_test(name, statistic, chi2_tail(statistic, df), OPTIONS_ALPHA, text)
