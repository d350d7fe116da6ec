"""Which model is better, on the same items and the same expert answers.

Two models: their difference with interval and p-value; more: a ranking in which models that the
data cannot tell apart share ranks. How depends on how the questions were drawn: resolved items
give McNemar's exact test, any recorded propensities the paired estimator.

examples: oversight compare
          oversight compare --model large --model small --test sign
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from harness.analysis import find_newest_runs
from harness.cli.output import emit
from harness.cli.study_arguments import add_study, study_of
from harness.errors import BadInput, EstimateError
from harness.estimate import (
    Comparison,
    Ranking,
    RoutedSample,
    accuracy_target,
    adjust,
    informed,
    mcnemar,
    paired_difference,
    pseudo_outcomes,
    rank_models,
    resolved_correctness,
    routed_pool,
    sign_test,
)
from harness.labels import decode
from harness.store import Repository

COMPARE_TESTS = ("auto", "paired", "sign", "mcnemar")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight compare``."""
    add_study(parser)
    parser.add_argument("--model", action="append", help="models to compare (default: all that were run)")
    parser.add_argument(
        "--test", choices=COMPARE_TESTS, default="auto", help="default: what the protocol allows"
    )
    parser.add_argument("--adjust", choices=("max-z", "holm", "bonferroni"), default="max-z")
    parser.add_argument("--level", type=float, help="joint confidence level (default: the study's)")


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    study = study_of(args)
    level = args.level or study.estimate.level
    with Repository(study.store_url) as store:
        runs = find_newest_runs(store.runs(), args.model)
        predictions = [store.predictions(run["id"]) for run in runs]
        questions, answers = store.questions(), store.answers()
    names = [run["name"] for run in runs]
    if len(names) < 2:
        raise BadInput(f"a comparison needs at least 2 models, there are {len(names)}")
    if not answers:
        raise BadInput("there are no answers yet; see: oversight label --help")
    protocols = {q.protocol for q in questions}
    _check_test(args.test, protocols)
    labels, asked = decode(answers), {q.item_id for q in questions}
    evidence: _Resolved | _Drawn
    if "sequential" in protocols:
        correct = resolved_correctness(labels, predictions, asked, on_differences=True)
        evidence = _Resolved(correct, len(answers))
    else:
        data, predicted = routed_pool(labels, predictions, asked)
        evidence = _Drawn(data, predicted, sign=args.test == "sign")
    if len(names) == 2 or args.adjust != "max-z" or args.test == "sign" or not evidence.rankable:
        pairs = [evidence.pair(names, i, j, level) for i, j in combinations(range(len(names)), 2)]
        method = "holm" if args.adjust == "max-z" else args.adjust
        _print_pairs(args, adjust(pairs, method) if len(pairs) > 1 else pairs)
    else:
        _print_ranking(args, rank_models(evidence.outcomes(), names, questions=len(answers), level=level))
    return 0


@dataclass(frozen=True, slots=True)
class _Resolved:
    """Exact correctness, shape (items, models), −1 where an expert abstained."""

    correct: NDArray[np.int64]
    questions: int

    @property
    def rankable(self) -> bool:
        """Whether every item is known: leaving some out would bend a ranking, see `mcnemar`."""
        return bool((self.correct >= 0).all())

    def pair(self, names: Sequence[str], i: int, j: int, level: float) -> Comparison:
        a, b = self.correct[:, i], self.correct[:, j]
        return mcnemar(a, b, questions=self.questions, level=level, names=(names[i], names[j]))

    def outcomes(self) -> NDArray[np.float64]:
        return self.correct.astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Answers to drawn options, and predictions of shape (items, models)."""

    data: RoutedSample
    predicted: NDArray[np.int64]
    sign: bool
    rankable: bool = True

    def pair(self, names: Sequence[str], i: int, j: int, level: float) -> Comparison:
        a, b, pair = self.predicted[:, i], self.predicted[:, j], (names[i], names[j])
        if not self.sign:
            return paired_difference(a, b, self.data, level=level, names=pair)
        if (self.predicted < 0).any():
            raise EstimateError("the sign test cannot see that unreadable predictions are wrong; use paired")
        no = self.data.answer == 0
        rows, options = self.data.item[no], np.unique(self.data.n_options)
        if len(options) > 1:
            raise EstimateError(f"the sign test needs one number of options, there are {options.tolist()}")
        return sign_test(a[rows], b[rows], self.data.asked[no], int(options[0]), level=level, names=pair)

    def outcomes(self) -> NDArray[np.float64]:
        data = informed(self.predicted, self.data)
        width = data.propensities.shape[1]
        return np.stack([pseudo_outcomes(accuracy_target(p, width), data) for p in self.predicted.T], axis=1)


def _check_test(test: str, protocols: set[str]) -> None:
    sequential = "sequential" in protocols
    if test == "mcnemar" and not sequential:
        raise BadInput('--test mcnemar needs resolved items: protocol = "sequential" in study.toml')
    if test in ("paired", "sign") and sequential:
        raise BadInput(f"--test {test} needs drawn options; these were asked about until resolved")
    if test == "sign" and protocols != {"partitioned"}:
        raise BadInput('--test sign needs uniformly drawn options: protocol = "partitioned"')


def _print_pairs(args: argparse.Namespace, pairs: Sequence[Comparison]) -> None:
    from rich.table import Table

    table = Table("better?", "difference", "interval", "p", "method", "items", "answers", title="Comparison")
    for c in pairs:
        better = f"{c.first} = {c.second} (tie)" if c.verdict == "tie" else f"{c.verdict} is better"
        table.add_row(
            better,
            f"{c.first} − {c.second}: {100 * c.difference:+.1f}",
            f"{100 * c.low:+.1f} … {100 * c.high:+.1f} points",
            f"{c.p_value:.3g}",
            c.method + ("" if c.adjusted == "none" else f", {c.adjusted}"),
            str(c.items),
            str(c.questions),
        )
    emit(args, {"comparisons": [{**asdict(c), "verdict": c.verdict} for c in pairs]}, table)


def _print_ranking(args: argparse.Namespace, ranking: Ranking) -> None:
    from rich.table import Table

    table = Table("rank", "model", "accuracy", title=f"Ranking, joint level {ranking.level:.0%}")
    for name, value, (best, worst) in zip(ranking.names, ranking.values, ranking.ranks, strict=True):
        table.add_row(str(best) if best == worst else f"{best}–{worst}", name, f"{100 * value:.1f} %")
    table.caption = "models that share a rank cannot be told apart"
    pairs = [{**asdict(c), "verdict": c.verdict} for c in ranking.comparisons]
    rows = [
        {"model": n, "accuracy": v, "ranks": list(r)}
        for n, v, r in zip(ranking.names, ranking.values, ranking.ranks, strict=True)
    ]
    emit(args, {"ranking": rows, "comparisons": pairs, "level": ranking.level}, table)
