"""Measure how many questions are saved by votes and judges, on twenty models' real predictions.

A saving is the mean squared error of the plain estimate divided by that of the assisted estimate. It is the
factor by which the plain estimate would need more questions.

1. Votes: items with 2 to 10 options are drawn from MMLU-Pro, and models at random. The protocol draws one
   question per item, and experts answer from the published truth. `oversight.model_accuracies` gives
   the protocol's plain estimate and the estimate assisted by all models' votes, for `TARGETS` models.
2. Judges of known quality, with 300 questions. Items are drawn from the whole set uniformly ("pool"), or by
   the judge's uncertainty, as with `draw = "deviation"`. With "uniform", one random option of each of 300
   random items is asked about.
3. Pool: 300 questions are asked about items drawn from a pool of 12,000, proportionally within strata by the
   agreement of all twenty models. The draw is compared with a simple random sample, for one target model and
   for five.

    python benchmarks/label_efficiency_real.py [--quick] [--draws 200]

Designs run on all processors. The last line is JSON: the savings with 4 and 12 models under uniform routing
(`votes4`, `votes12`), with judges whose area under the curve is .8 and .93 in draws by deviation (`judge_08`,
`judge_093`), and with the draw by agreement for one target and for five (`pool_one`, `pool_five`); and the
lowest coverage of each part.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from itertools import product
from multiprocessing import get_context

import numpy as np
from scipy.optimize import brentq

import oversight as ov
from benchmarks._options import read_options
from benchmarks._real_predictions import ROSTER, Pool, Seen, load_all
from benchmarks._simulation import area_under_roc, collect_labels, judge_signals, make_rule
from oversight.harness import FloatArray, IntArray
from oversight.harness.columns import ItemIndex, PredictionColumns
from oversight.harness.estimate import (
    JudgeOpinion,
    chances_by_deviation,
    draw_in_proportion,
    draw_with_chances,
    expected_questions,
    guess_by_judges,
    guess_right,
    split_by_agreement,
    vote_posterior,
)
from oversight.harness.estimate.side_information import estimate_working, heard_working
from oversight.harness.types import Prediction
from oversight.protocols.routing import Partitioned

QUESTIONS = 300
_FURTHER = 8
"""Number of draws for the variance, as a multiple of the draws with simulated labels. The additional draws
need no labels, because an estimate equals the share of right answers."""
SETS = 10
"""Number of random sets of five target models."""
Design = tuple[str, int, int]
"""Protocol, number of models, number of items."""
Way = tuple[str | int, ...]
"""A design, or a way to draw items and a kind of judge."""
DESIGNS: tuple[Design, ...] = tuple(product(("uniform", "targeted"), (4, 12), (100, 300)))
TARGETS = 4
WAYS = ("uniform", "pool", "deviation")
"""Ways to draw the questions."""
JUDGES = {"auc .80": 0.8, "auc .93": 0.93, "reversed": 0.93, "lying": 0.93, "constant": 0.5}


def main() -> None:
    draws, started = read_options(__doc__, {"--draws": (200, 30)}).draws, time.perf_counter()
    load_all()  # forked workers inherit the loaded data
    with ProcessPoolExecutor(mp_context=get_context("fork")) as workers:
        pools = workers.submit(see_pools, draws)
        studies: dict[Way, Future[Seen]] = {design: workers.submit(see, design, draws) for design in DESIGNS}
        judged_draws: dict[Way, Future[Seen]] = {
            (way, kind): workers.submit(see_judge, way, kind, draws if way == "pool" else 2 * draws)
            for way, kind in product(WAYS, JUDGES)
        }
        found, judged = show(studies), show(judged_draws)
        pool = pools.result()
    result = {
        "votes4": round(found["uniform", 4, 300].ratio, 2),
        "votes12": round(found["uniform", 12, 300].ratio, 2),
        "coverage_min": round(min(seen.ours.coverage for seen in found.values()), 4),
        "judge_08": round(judged["deviation", "auc .80"].ratio, 2),
        "judge_093": round(judged["deviation", "auc .93"].ratio, 2),
        "judge_coverage_min": round(min(seen.ours.coverage for seen in judged.values()), 4),
        **pool,
        "draws": draws,
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(result))


def listen(pool: Pool, kind: str, seed: int) -> tuple[IntArray, FloatArray]:
    """Return a judge's most probable option of each item, and its probability, shape (N,) each."""
    rng = np.random.default_rng([11, seed])
    option, sure = _judge(pool, _strength(JUDGES[kind]), rng)
    if kind == "reversed":
        return option, 1 - sure
    if kind == "lying":
        return np.where(option == pool.truth, (option + 1) % pool.n_options, option), sure
    if kind == "constant":
        return np.zeros_like(option), np.full_like(sure, 0.9)
    return option, sure


def judge_pool(pool: Pool, kind: str, draws: int, *, by_deviation: bool) -> Seen:
    """Simulate studies of one model on items drawn from a pool, as ``label route`` draws them.

    The plain estimate uses a simple random sample of the same size, whose variance is known exactly.
    """
    seen, index, names = Seen(), ItemIndex.of([item.id for item in pool.items]), list(pool.models)
    for seed in range(draws):
        name = names[seed % len(names)]
        predicted, rng = pool.models[name], np.random.default_rng([12, seed])
        option, sure = listen(pool, kind, seed)
        judge = JudgeOpinion.of(PredictionColumns(index=index, option=option, confidence=sure))
        if by_deviation:
            right = guess_by_judges(predicted[:, None], [judge], pool.n_options, None)[:, 0]
            chances = chances_by_deviation(np.sqrt(right * (1 - right)), QUESTIONS)
            drawn = draw_with_chances(chances, right, rng)
        else:
            drawn = rng.choice(pool.size, QUESTIONS, replace=False)
            chances = np.full(pool.size, QUESTIONS / pool.size)
        data = pool.ask_about(predicted, drawn, chances)
        estimate = estimate_working(predicted, data, heard_working([judge]))
        exact = pool.exact[name]
        unit = np.sqrt(exact * (1 - exact) / QUESTIONS)
        seen.plain.add_ends(exact + unit, exact, exact, exact, unit)
        seen.ours.add(estimate, exact, unit)
        seen.areas.append(_area(pool, name, option, sure))
    return seen


def judge_uniform(pool: Pool, kind: str, draws: int) -> Seen:
    """Simulate studies that ask about one random option per item, and estimate with the public functions."""
    seen, names = Seen(), list(pool.models)
    for seed in range(draws):
        rng = np.random.default_rng([13, seed])
        places = rng.choice(pool.size, QUESTIONS, replace=False)
        option, sure = listen(pool, kind, seed)
        chosen = [pool.items[j] for j in places]
        labels = collect_labels(Partitioned(ROSTER, seed), chosen, pool.key)
        rows = zip(chosen, option[places].tolist(), sure[places].tolist(), strict=True)
        judge = [Prediction(item.id, k, confidence=p) for item, k, p in rows]
        name = names[seed % len(names)]
        known = {name: pool.predictions(name, places)}
        made = ov.model_accuracies(known, labels, judges={"judge": judge})[name]
        exact = pool.exact[name]
        seen.plain.add(made["ml"], exact)
        seen.ours.add(made["judged"], exact)
        seen.areas.append(_area(pool, name, option, sure))
    return seen


def _judge(pool: Pool, strength: float, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    p = judge_signals(pool.truth, pool.n_options, strength, rng)
    return p.argmax(axis=1), p.max(axis=1)


@cache
def _strength(wanted: float) -> float:
    """Return the strength of the judge's signals at which their mean AUC is `wanted`."""
    if wanted <= 0.5:
        return 0.0
    pool = load_all()

    def excess(strength: float) -> float:
        voice = _judge(pool, strength, np.random.default_rng(0))
        return float(np.mean([_area(pool, name, *voice) for name in pool.models])) - wanted

    return float(brentq(excess, 0.0, 5.0, xtol=1e-3))


def _area(pool: Pool, name: str, option: IntArray, sure: FloatArray) -> float:
    """Return the AUC of the judge's probability that a readable answer of a model is right."""
    predicted = pool.models[name]
    p = np.where(option == predicted, sure, (1 - sure) / (pool.n_options - 1))
    is_readable = predicted >= 0
    return area_under_roc(p[is_readable], (predicted == pool.truth)[is_readable])


class AgreementDraws:
    """Draws items of a pool, stratified by the agreement of models."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.names = pool, list(pool.models)
        self.predicted = np.stack(list(pool.models.values()), axis=1)
        self.correct = (self.predicted == pool.truth[:, None]).astype(np.float64)
        self.right = guess_right(self.predicted, pool.n_options)

    def see(self, targets: Sequence[str], draws: int, rng: np.random.Generator) -> tuple[float, list[float]]:
        """Return the ratio of two variances, and the coverage of each target's interval.

        The ratio is the variance with a simple random sample, which is known exactly, divided by that with a
        stratified sample of the same size.
        """
        columns = [self.names.index(name) for name in targets]
        number = QUESTIONS if len(targets) == 1 else self._count(columns)
        stratum = split_by_agreement(self.right[:, columns], number)
        within = split_by_agreement(self.right[:, columns], number, each=1)
        exact = np.array([self.pool.exact[name] for name in targets])
        total = _FURTHER * draws
        errors, held = np.zeros((total, len(targets))), np.zeros((draws, len(targets)))
        for draw in range(total):
            places = draw_in_proportion(stratum, number, rng, within=within)
            errors[draw] = self.correct[places][:, columns].mean(axis=0) - exact
            if draw >= draws:
                continue
            found = self._estimate(targets, places, stratum, draw)
            # An estimate is the share of drawn items that are right.
            assert np.allclose([e.value for e in found] - exact, errors[draw])
            ends = np.array([(e.low - 1e-9, e.high + 1e-9) for e in found])
            held[draw] = (ends[:, 0] <= exact) & (exact <= ends[:, 1])
        size = self.pool.size
        at_random = exact * (1 - exact) / number * (size - number) / (size - 1)
        # The expected inverse of a mean of n squared normal errors is too large by the factor n/(n − 2).
        ratio = at_random / np.square(errors).mean(axis=0) * (total - 2) / total
        return float(ratio.mean()), held.mean(axis=0).tolist()

    def _count(self, columns: list[int]) -> int:
        """Return the number of items for which `QUESTIONS` questions suffice on average."""
        predicted, accuracy = self.predicted[:, columns], self.right.mean(axis=0)[columns]
        width = int(self.pool.n_options.max())
        posterior = vote_posterior(predicted, self.pool.n_options, width, accuracy=accuracy)
        return int(QUESTIONS / expected_questions(predicted, posterior, self.pool.n_options).mean())

    def _estimate(
        self, targets: Sequence[str], places: IntArray, stratum: IntArray, seed: int
    ) -> list[ov.Estimate]:
        chosen = [self.pool.items[j] for j in places.tolist()]
        protocol = "targeted" if len(targets) == 1 else "sequential"
        rule = make_rule(protocol, ROSTER, self.pool.votes(targets, places), seed)
        labels = collect_labels(rule, chosen, self.pool.key)
        strata = {item.id: str(s) for item, s in zip(chosen, stratum[places].tolist(), strict=True)}
        labels = labels.drawn_from(strata, pool_size=self.pool.size)
        return [ov.accuracy(self.pool.predictions(name, places), labels) for name in targets]


def see_pools(draws: int) -> dict[str, float]:
    """Measure draws for each single target model, and for sets of five. Prints and returns the results."""
    drawing, rng = AgreementDraws(load_all()), np.random.default_rng(18)
    one = [drawing.see([name], draws, rng) for name in drawing.names]
    sets = [rng.choice(drawing.names, 5, replace=False).tolist() for _ in range(SETS)]
    five = [drawing.see(targets, draws, rng) for targets in sets]
    for name, found in (("one target, targeted", one), ("five targets, sequential", five)):
        ratios, held = [ratio for ratio, _ in found], [share for _, each in found for share in each]
        ends = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"pool, {name}: saves {np.mean(ratios):.2f} ({ends}), holds {np.mean(held):.1%}", flush=True)
    shares = [share for _, each in one + five for share in each]
    return {
        "pool_one": round(float(np.mean([ratio for ratio, _ in one])), 2),
        "pool_five": round(float(np.mean([ratio for ratio, _ in five])), 2),
        "pool_coverage": round(float(np.mean(shares)), 4),
        "pool_coverage_min": round(min(shares), 4),
    }


def show(futures: Mapping[Way, Future[Seen]]) -> dict[Way, Seen]:
    """Print how many questions are saved in each way, when it is known. Returns the results."""
    found = {}
    for way, future in futures.items():
        seen = found[way] = future.result()
        name, area = " ".join(map(str, way)), f" area {np.mean(seen.areas):.2f}" if seen.areas else ""
        print(
            f"{name:<20} saves {seen.ratio:.2f} holds {seen.ours.coverage:.1%} width {seen.ours.width:.3f} "
            f"plain width {seen.plain.width:.3f}{area}",
            flush=True,
        )
    return found


def see(design: Design, draws: int) -> Seen:
    """Simulate this number of studies of a design."""
    (protocol, number, size), pool = design, load_all()
    rng, seen = np.random.default_rng([number, size]), Seen()
    for seed in range(draws):
        places = rng.choice(pool.size, size, replace=False)
        names = rng.choice(list(pool.models), number, replace=False).tolist()
        rule = make_rule(protocol, ROSTER, pool.votes(names, places), seed)
        labels = collect_labels(rule, [pool.items[j] for j in places], pool.key)
        made = ov.model_accuracies({name: pool.predictions(name, places) for name in names}, labels)
        for name in names[:TARGETS]:
            plain, assisted = made[name]["ml" if protocol == "uniform" else "routed"], made[name]["assisted"]
            seen.plain.add(plain, pool.exact[name])
            seen.ours.add(assisted, pool.exact[name])
    return seen


def see_judge(way: str, kind: str, draws: int) -> Seen:
    """Simulate studies with one kind of judge; `way` is one of `WAYS`."""
    if way == "uniform":
        return judge_uniform(load_all(), kind, draws)
    return judge_pool(load_all(), kind, draws, by_deviation=way == "deviation")


if __name__ == "__main__":
    main()
