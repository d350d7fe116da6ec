"""Measure how often checks of assumptions fail, in studies without a fault and with each kind of fault.

Simulated studies have models of unequal accuracy whose errors are correlated, and classes of unequal
frequency and difficulty. Questions are drawn by each protocol's propensities. Experts answer without error,
or with one kind of fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.special import ndtr

from benchmarks._coverage_designs import falls_short
from oversight.harness import FloatArray, IntArray
from oversight.harness.columns import (
    ItemIndex,
    LabelColumns,
    OfferedOptions,
    PredictionColumns,
    QuestionColumns,
)
from oversight.harness.estimate import Check, propensities_for, run_checks, vote_posterior
from oversight.protocols.routing import Disagreement, Partitioned, Sequential, Targeted

STATEMENTS = {
    "partitioned": Partitioned.statement,
    "targeted": Targeted.statement,
    "sequential": Sequential.statement,
    "disagreement": Disagreement.statement,
}
FAULTS = ("none", "one always no", "one always yes", "all no", "all yes", "coin", "other items", "seen")


@dataclass(frozen=True, kw_only=True)
class CheckDesign:
    """A study on which the checks are run.

    Attributes
    ----------
    accuracy
        Mean accuracy of the models; their accuracies range from .15 below it to .15 above it.
    skew
        Standard deviation of the logits of the classes' frequencies and difficulties.
    fault
        One of `FAULTS`: how experts answer wrongly, or ``"seen"`` if one model knows half of the answers.
    """

    protocol: str = "partitioned"
    models: int = 1
    experts: int = 2
    K: int = 4
    n: int = 300
    accuracy: float = 0.7
    skew: float = 0.5
    fault: str = "none"


@dataclass(frozen=True, slots=True)
class FailedShare:
    """Share of a design's studies in which at least one check failed for at least one model.

    `by_check` counts the studies in which each check failed.
    """

    design: CheckDesign
    share: float
    draws: int
    by_check: dict[str, int]

    @property
    def is_high(self) -> bool:
        """Whether a check fails in significantly more than 5 % of the draws (2.6 standard errors)."""
        return self.design.fault == "none" and falls_short(1 - self.share, self.draws)


def count_failed(design: CheckDesign, draws: int, seed: int = 1) -> FailedShare:
    """Draw studies of a design, run all checks on all models, and count the failures."""
    rng = np.random.default_rng([seed, sum(map(ord, str(design)))])
    failing, by_check = 0, Counter[str]()
    for _ in range(draws):
        failed = {check.name for check in check_study(design, rng) if check.state == "failed"}
        failing += bool(failed)
        by_check.update(failed)
    return FailedShare(design, failing / draws, draws, dict(by_check.most_common()))


def check_study(design: CheckDesign, rng: np.random.Generator) -> Iterator[Check]:
    """Draw one study, and yield all checks of every model."""
    models, labels = draw_study(design, rng)
    for j, model in enumerate(models):
        yield from run_checks(model, labels, others=[*models[:j], *models[j + 1 :]])


def draw_study(design: CheckDesign, rng: np.random.Generator) -> tuple[list[PredictionColumns], LabelColumns]:
    """Draw a study. Returns the predictions of all models, and the labels."""
    n, K = design.n, design.K
    truth, predicted = _draw_world(design, rng)
    index = _index(n)
    item, option, pi, offered = _ask(design, truth, predicted, rng)
    expert = _put_to(design, item, option, rng)
    kind = _answer(design, truth, item, option, expert, rng)
    if design.fault == "seen":
        one = (design.models - 1) // 2
        predicted[:, one] = _follow(predicted[:, one], item, option, kind, K, rng)
    questions = QuestionColumns(
        index=index,
        item=item,
        option=option,
        n_options=np.full(item.size, K),
        propensity=pi,
        expert=expert,
        experts=[f"expert {e}" for e in range(max(design.experts, 1))],
        offered=offered,
        place=np.arange(item.size),
    )
    asked = np.zeros(n, np.bool_)
    asked[item] = True
    labels = LabelColumns(
        questions=questions,
        kind=kind,
        statements=(STATEMENTS[design.protocol],),
        drawn=questions,
        asked=asked,
    )
    return [PredictionColumns(index=index, option=column) for column in predicted.T], labels


@lru_cache(maxsize=8)
def _index(n: int) -> ItemIndex:
    return ItemIndex.of([f"i{j}" for j in range(n)])


def _draw_world(design: CheckDesign, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Draw true options, shape (n,), and predicted options, shape (n, models)."""
    n, K, models = design.n, design.K, design.models
    weight = np.exp(design.skew * rng.standard_normal(K))
    truth = rng.choice(K, n, p=weight / weight.sum())
    spread = np.linspace(-0.15, 0.15, models) if models > 1 else np.zeros(1)
    easy = design.skew * rng.standard_normal(K)
    mean = np.clip(design.accuracy + spread, 0.01, 0.99)
    logit = np.log(mean / (1 - mean)) + easy[truth][:, None]
    latent = np.sqrt(0.5) * (rng.standard_normal((n, 1)) + rng.standard_normal((n, models)))
    right = ndtr(latent) < 1 / (1 + np.exp(-logit))
    lure = rng.integers(1, K, (n, 1))
    wrong = np.where(rng.random((n, models)) < 0.4, lure, rng.integers(1, K, (n, models)))
    return truth, np.where(right, truth[:, None], (truth[:, None] + wrong) % K)


def _ask(
    design: CheckDesign, truth: IntArray, predicted: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray, FloatArray, OfferedOptions]:
    """Draw questions. Returns their items, options and propensities, and the propensities of all options."""
    n, K = design.n, design.K
    if design.protocol == "partitioned":
        return np.arange(n), rng.integers(0, K, n), np.full(n, 1 / K), OfferedOptions.of([()] * n)
    if design.protocol == "sequential":
        item, option = _ask_in_turn(truth, predicted, K, says_no=design.fault == "all no")
        return item, option, np.ones(item.size), OfferedOptions.of([()] * item.size)
    if design.protocol == "disagreement":
        items = np.flatnonzero(predicted[:, 0] != predicted[:, 1])
        pi: FloatArray = np.zeros((items.size, K))
        for column in predicted[items, :2].T:
            pi[np.arange(items.size), column] = 0.5
    else:
        items, pi = np.arange(n), propensities_for(predicted, K, K)
    drawn = (rng.random((items.size, 1)) >= np.cumsum(pi, axis=1) - 1e-12).sum(axis=1)
    option = np.minimum(drawn, K - 1)
    offered = OfferedOptions(start=np.arange(items.size + 1) * K, values=pi.ravel())
    return items, option, pi[np.arange(items.size), option], offered


def _ask_in_turn(truth: IntArray, predicted: IntArray, K: int, *, says_no: bool) -> tuple[IntArray, IntArray]:
    """Return items and options of sequential questions.

    Each item's predicted options are asked about in order of falling posterior until one is confirmed.
    """
    n = len(truth)
    votes = np.stack([(predicted == k).sum(axis=1) for k in range(K)], axis=1)
    order = np.argsort(-vote_posterior(predicted, K, K) - 1e-9 * (votes > 0), axis=1, kind="stable")
    is_open, item, option = np.ones(n, np.bool_), [], []
    for wave in range(K - 1):
        asked = order[:, wave]
        is_open &= votes[np.arange(n), asked] > 0
        item.append(np.flatnonzero(is_open))
        option.append(asked[is_open])
        if not says_no:
            is_open &= asked != truth
    return np.concatenate(item), np.concatenate(option)


def _put_to(design: CheckDesign, item: IntArray, option: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the expert of every question.

    With fewer experts than classes, an expert judges several classes; with more, several experts share a
    class.
    """
    E, K = design.experts, design.K
    if E <= K:
        return option % E
    able = (E - 1 - option) // K + 1
    expert: IntArray = option + K * (rng.random(item.size) * able).astype(np.int64)
    return expert


def _answer(
    design: CheckDesign,
    truth: IntArray,
    item: IntArray,
    option: IntArray,
    expert: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Return the experts' answers with the design's fault: 1 for yes, 0 for no."""
    right: IntArray = (truth[item] == option).astype(np.int64)
    if design.fault in ("all no", "all yes"):
        return np.full(item.size, int(design.fault == "all yes"))
    if design.fault.startswith("one always"):
        return np.where(expert == 0, int(design.fault.endswith("yes")), right)
    if design.fault == "coin":
        return (rng.random(item.size) < 0.5).astype(np.int64)
    if design.fault == "other items":
        right = right[rng.permutation(item.size)]
    return right


def _follow(
    predicted: IntArray, item: IntArray, option: IntArray, kind: IntArray, K: int, rng: np.random.Generator
) -> IntArray:
    """Return the predictions of a model that knows half of the experts' answers.

    On these items, it chooses the option that the expert confirmed, and replaces a choice that the expert
    refuted.
    """
    found: IntArray = predicted.copy()
    knows = rng.random(item.size) < 0.5
    yes, no = knows & (kind == 1), knows & (kind == 0) & (predicted[item] == option)
    found[item[yes]] = option[yes]
    found[item[no]] = (option[no] + rng.integers(1, K, int(no.sum()))) % K
    return found


def sound_designs(sizes: tuple[int, ...] = (100, 300, 1000)) -> list[CheckDesign]:
    """Return designs in which every assumption of the checks holds."""
    grid = product(STATEMENTS, (1, 20), (2, 20), (4, 10), sizes)
    return [
        CheckDesign(protocol=p, models=2 if p == "disagreement" else m, experts=e, K=K, n=n)
        for p, m, e, K, n in grid
        if not (p == "disagreement" and m == 20)
    ]


def quick_check_designs() -> list[CheckDesign]:
    """Return a few designs without a fault, for the quick version of the coverage benchmark."""
    small = [d for d in sound_designs((100,)) if d.experts == 20 and d.K == 10 and d.models < 20]
    return [*small, CheckDesign(models=20, n=100)]


def measure_false_alarms(draws: int, *, quick: bool = False) -> list[FailedShare]:
    """Measure the share of studies without a fault in which a check fails, for each design.

    A design with a high share is measured again with four times as many draws.
    """
    designs = quick_check_designs() if quick else sound_designs()
    cells = [count_failed(design, draws) for design in designs]
    return [count_failed(cell.design, 4 * draws, seed=2) if cell.is_high else cell for cell in cells]
