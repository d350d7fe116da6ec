"""Checks of experts: nobody says yes far more rarely or often than others, or errs with a model.

Experts judge different classes, and a model may be far better on one class than on another. So an expert
fails only if the odds of a yes are more than `TOLERATED` times those of other experts on like questions,
beyond chance. Experts of the same class are asked at random, so `TOLERATED_ALIKE` is enough for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, YES, LabelColumns
from oversight.harness.estimate.checks.agreement_of_models import ModelVotes
from oversight.harness.estimate.checks.check import GOLD_ALPHA, Check

TOLERATED, TOLERATED_ALIKE = 10.0, 3.0
_LEAST = 10
_NAME = "yes_rate_by_expert"


@dataclass(frozen=True, slots=True)
class _Cells:
    """Numbers of answers and of yes by kind of question, option and expert; one cell an entry."""

    kind: IntArray
    option: IntArray
    expert: IntArray
    n: IntArray
    yes: IntArray


def yes_rate_by_expert(votes: ModelVotes, alpha: float) -> Check:
    """Every expert says yes about as often as others do on questions like theirs.

    Questions are alike if they have the same K, the same chance of being asked (by quarters), as many models
    that predict the option (by thirds), and the same place in the order of an item's questions. The test of
    an expert is exact given the answers of all: Fisher's noncentral hypergeometric distribution at the
    tolerated ratio of odds, summed over kinds of questions. Smallest p-value over experts, times their number
    (Bonferroni).
    """
    labels = votes.labels
    rows = np.flatnonzero(labels.kind != ABSTAINED)
    names, who = _name_experts(labels, rows)
    cells = _count_cells(votes, rows, who)
    separate = _judge_few_options(cells, len(names))
    found = [test for expert in range(len(names)) for test in _test_expert(cells, expert, separate=separate)]
    if not found:
        return Check.not_made(_NAME, f"fewer than two experts with {_LEAST} answers to questions of one kind")
    p, expert, yes, n, others = min(found)
    p = min(1.0, p * len(found))
    text = f"furthest off: {names[expert]}, {yes} yes of {n} answers where others say yes to {others:.0%}"
    odd = "; answers that follow no item look like this, and so does a class that models never get right"
    return Check.of_test(_NAME, yes / n, p, alpha, text, odd)


def _name_experts(labels: LabelColumns, rows: IntArray) -> tuple[list[str], IntArray]:
    """Names of the experts who answered, and who gave each answer; the option if none is named."""
    asked = labels.questions
    own = len(asked.experts)
    named = np.array([bool(name) for name in asked.experts], np.bool_)[asked.expert[rows]]
    codes = np.where(named, asked.expert[rows], own + asked.option[rows])
    known, who = np.unique(codes, return_inverse=True)
    names = [asked.experts[code] if code < own else f"option {code - own}" for code in known.tolist()]
    return names, who.astype(np.int64)


def _count_cells(votes: ModelVotes, rows: IntArray, who: IntArray) -> _Cells:
    """Answers counted by kind of question, option and expert."""
    labels, asked = votes.labels, votes.labels.questions
    quarter = np.minimum((4 * asked.propensity[rows]).astype(np.int64), 3)
    third = np.ceil(3 * votes.share_of_votes(rows)).astype(np.int64)
    kind = ((asked.n_options[rows] * 4 + quarter) * 4 + third) * 2 + votes.is_first[rows]
    option = labels.option[rows]
    sizes = int(option.max(initial=0)) + 1, int(who.max(initial=0)) + 1
    code, which = np.unique((kind * sizes[0] + option) * sizes[1] + who, return_inverse=True)
    of_option, expert = np.divmod(code, sizes[1])
    n, yes = np.bincount(which), np.bincount(which[labels.kind[rows] == YES], minlength=code.size)
    return _Cells(kind=of_option // sizes[0], option=of_option % sizes[0], expert=expert, n=n, yes=yes)


def _judge_few_options(cells: _Cells, n_experts: int) -> bool:
    """Whether options stand for classes, since most experts are asked about some of them only."""
    pairs = np.unique(np.stack([cells.expert, cells.option]), axis=1).shape[1]
    return bool(pairs <= n_experts * np.unique(cells.option).size / 2)


def _test_expert(cells: _Cells, expert: int, *, separate: bool) -> list[tuple[float, int, int, int, float]]:
    """p-value, expert, yes and number of answers, and the rate of yes of others; by group of others."""
    mine, found = cells.expert == expert, []
    by_kind = [cells.kind == kind for kind in np.unique(cells.kind[mine]).tolist()]
    tests = [(by_kind, TOLERATED)]
    if separate:
        options = np.unique(cells.option[mine]).tolist()
        tests.append(([k & (cells.option == o) for k in by_kind for o in options], TOLERATED_ALIKE))
    for groups, tolerated in tests:
        table = np.array(
            [
                [values[group & side].sum() for side in (mine, ~mine) for values in (cells.yes, cells.n)]
                for group in groups
            ]
        )
        table = table[(table[:, 1] > 0) & (table[:, 3] >= _LEAST)]
        if table[:, 1].sum() >= _LEAST:
            yes, n, *_ = table.sum(axis=0).tolist()
            others = float(table[:, 1] @ (table[:, 2] / table[:, 3])) / n
            found.append((odds_p_value(table, tolerated), expert, yes, n, others))
    return found


def odds_p_value(table: IntArray, tolerated: float) -> float:
    """Two-sided exact p-value that the odds of two groups differ by a factor of at most `tolerated`.

    Given the number of yes of both groups in every stratum, the first group's has Fisher's noncentral
    hypergeometric distribution; its sum over strata has their convolution. Twice the smaller tail at the
    tolerated ratio of odds and at its inverse.

    Parameters
    ----------
    table
        Shape (strata, 4): yes and number of answers of the first group, and of the second.
    tolerated
        Ratio of odds, at least 1; at 1 and with one stratum this is twice a tail of Fisher's exact test.

    Examples
    --------
    >>> round(odds_p_value(np.array([[0, 10, 10, 10]]), tolerated=1.0), 6)
    1.1e-05
    """
    yes, n, others_yes, others = np.asarray(table, np.int64).T
    total = yes + others_yes
    low, high = np.maximum(0, total - others), np.minimum(n, total)
    rows = list(zip(*(side.tolist() for side in (low, high, n, others, total)), strict=True))
    place, size = int((yes - low).sum()), 1 + int((high - low).sum())
    few, many = (
        _convolve([_noncentral(*row, odds=odds) for row in rows], size) for odds in (1 / tolerated, tolerated)
    )
    return min(1.0, 2 * float(min(few[: place + 1].sum(), many[place:].sum())))


def _convolve(parts: Sequence[FloatArray], size: int) -> FloatArray:
    """Distribution of the sum of independent numbers, by Fourier transforms, on a given number of values."""
    if len(parts) == 1:
        return parts[0]
    spectrum = np.prod([np.fft.rfft(part, size) for part in parts], axis=0)
    found: FloatArray = np.maximum(0.0, np.fft.irfft(spectrum, size))
    return found


def _noncentral(low: int, high: int, n: int, others: int, total: int, *, odds: float) -> FloatArray:
    """Probabilities of low..high yes in the first group, by the ratio of successive ones."""
    x = np.arange(low, high, dtype=np.float64)
    step = np.log(odds * (n - x) * (total - x)) - np.log((x + 1) * (others - total + x + 1))
    log_weight = np.concatenate([[0.0], np.cumsum(step)])
    weight = np.exp(log_weight - log_weight.max())
    found: FloatArray = weight / weight.sum()
    return found


_SUPPOSED = "; the correction supposes that experts err equally often whatever the model predicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldAnswer:
    """An answer to a question about a gold item.

    Attributes
    ----------
    about_truth
        Whether the question is about the true option.
    is_right
        Whether the answer is.
    is_predicted
        Whether the question is about the option that the model predicts.
    """

    about_truth: bool
    is_right: bool
    is_predicted: bool


def gold_errors(answers: Sequence[GoldAnswer], n_models: int = 1) -> Check:
    """Experts err as often about options that the model predicts as about others, given the truth.

    Fisher's exact test, doubled to both sides, for questions about true and about false options; the smaller
    p-value times two. A correction by gold is biased if they do not: by 7 points where experts take a quarter
    of the model's wrong options for true.

    Parameters
    ----------
    answers
        Those to gold items that the model predicts.
    n_models
        Number of models whose checks are read together.

    Examples
    --------
    >>> fooled = [GoldAnswer(about_truth=False, is_right=j > 5, is_predicted=j < 12) for j in range(40)]
    >>> gold_errors(fooled).passed
    False
    """
    name, tests = "gold_errors", []
    for truth, what in ((True, "true"), (False, "false")):
        (wrong, n), (wrong_other, n_other) = (
            (sum(not a.is_right for a in side), len(side))
            for own in (True, False)
            for side in [[a for a in answers if a.about_truth is truth and a.is_predicted is own]]
        )
        if n and n_other:
            p = odds_p_value(np.array([[wrong, n, wrong_other, n_other]]), tolerated=1.0)
            own, other = f"{wrong} of {n}", f"{wrong_other} of {n_other}"
            tests.append((p, f"wrong answers about {what} options: {own} if predicted, {other} if not"))
    if not tests:
        text = "no gold answers about options that the model predicts, beside others"
        return Check.not_made(name, text + _SUPPOSED)
    p = min(1.0, 2 * min(p for p, _ in tests))
    text = "; ".join(told for _, told in tests)
    return Check.of_test(name, None, p, GOLD_ALPHA / n_models, text, _SUPPOSED)
