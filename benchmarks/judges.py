"""Measure with twenty public models and simulated judges: coverage, savings, cost of bad judges, and checks.

The data are published answers of twenty models to 4,000 questions. Five judges are simulated: calibrated,
overconfident, reversed, copying the model that it judges, and good in one field only.

1. Quality: coverage of the intervals of calibration, area under the curve and correlations of errors, in
   partitioned, targeted and sequential studies.
2. Savings: 200 items of the pool are drawn, and experts check a model's predictions on them. Our estimate and
   those of ppi-python, glide-py and cje-eval use the same draws and the judge's probabilities that the model
   is right. A saving is the mean squared error without a judge divided by that with the judge. Two models'
   answers also serve as judges. Then one random option of each of 300 items is asked about; the other
   packages do not support this design.
3. Transport: a judge's calibration is fitted on half of the fields and tested on the other fields, with the
   same or another kind of judge. A pass is false if the true gap is at least the margin.
4. Plans: the cheapest mix of questions and judge is planned from a pilot, and a study of this size is
   simulated.

    python benchmarks/judges.py [--quick] [--draws 400]

The last line is JSON:

* `coverage_min`: lowest coverage of any kind of interval in any design;
* `saved_vs_best_rival`: our saving divided by the best other package's, the fourth largest of all judges;
* `bad_judge_width`: largest mean width with a bad judge divided by that without a judge;
* `transport_false_pass`: largest share of false passes among transports beyond the margin;
* `withheld_max`: largest share of withheld measures of quality;
* `plan_kept_min`: lowest share of planned studies that reach the half-width; the target is 80 %.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import oversight as ov
from benchmarks._coverage_kinds import Cell, Outcome
from benchmarks._judge_pool import BAD, DESIGNS, JUDGES, K, as_judge, as_voter, ask, see_quality, simulate
from benchmarks._options import read_options
from benchmarks._peers import run_peers
from benchmarks._real_predictions import ROSTER, Pool, load_bundled
from benchmarks._simulation import Estimates, collect_labels, make_rule
from oversight.harness import IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns
from oversight.harness.config import CostsSection
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import (
    PASS,
    RoutedSample,
    clopper_pearson,
    draw_in_proportion,
    guess_right,
    split_by_agreement,
)
from oversight.harness.estimate.routed_means import routed_accuracy
from oversight.harness.estimate.side_information import estimate_working
from oversight.harness.judges import (
    JudgeProbabilities,
    PricedPlan,
    calibrate,
    check_transport,
    price_plans,
    weigh_judges,
)
from oversight.harness.types import Labels

PILOT = 150
"""Number of items in a pilot."""
COSTS = CostsSection(question_usd=2.0, question_minutes=1.5, judge_usd=0.01)


@dataclass(frozen=True)
class PlanCell:
    """A study design: number of models, kind of judge, protocol, and the half-width that is planned."""

    models: int
    judge: str
    protocol: str
    half_width: float

    def __str__(self) -> str:
        """Return the name of this cell in the table."""
        return f"{self.models} models, judge {self.judge}, {self.protocol}, ±{self.half_width:g}"


CELLS = (
    PlanCell(1, "calibrated", "targeted", 0.05),
    PlanCell(1, "copying", "targeted", 0.05),
    PlanCell(3, "calibrated", "sequential", 0.05),
    PlanCell(3, "overconfident", "targeted", 0.06),
)
"""The last cell takes five times as long as the others, so ``--quick`` omits it."""


def plan_and_run(cell: PlanCell, seed: int) -> tuple[PricedPlan, float] | None:
    """Plan from a simulated pilot, then simulate the planned study.

    Returns the cheapest plan for the first model, and the half-width that the study reaches; None if no
    plan results from the pilot.
    """
    pool, rng = load_bundled(), np.random.default_rng([25, seed])
    names = rng.choice(list(pool.models), cell.models, replace=False).tolist()
    options = {name: pool.models[name] for name in names}
    models = {name: PredictionColumns(index=pool.index, option=each) for name, each in options.items()}
    p = simulate(pool, cell.judge, options[names[0]], rng)
    judge = PredictionColumns(index=pool.index, option=p.argmax(axis=1), confidence=p.max(axis=1))
    drawn = rng.choice(pool.size, PILOT, replace=False)
    labels = _ask_experts(cell.protocol, names, drawn, np.zeros(pool.size, np.int64), seed)
    try:
        plan = ov.plan_from_pilot(
            {names[0]: models[names[0]]},
            LabelColumns.of(labels, pool.index),
            judges={"judge": judge},
            voters=models,
            asked_for=names,
            half_width=cell.half_width,
        )
    except EstimateError:
        return None
    mixes = price_plans([plan], COSTS, pool=pool.size, judges=1)
    if not mixes:
        return None
    number = min(pool.size, round(mixes[0].questions * PILOT / len(labels)))
    return mixes[0], _run_planned(mixes[0], number, models, judge, seed, rng)


def _run_planned(
    plan: PricedPlan,
    number: int,
    models: Mapping[str, PredictionColumns],
    judge: PredictionColumns,
    seed: int,
    rng: np.random.Generator,
) -> float:
    """Simulate a study of `number` items, drawn as by ``label route``. Returns its half-width."""
    pool = load_bundled()
    right = guess_right(np.stack([pool.models[name] for name in models], axis=1), pool.n_options)
    stratum = split_by_agreement(right, number)
    drawn = draw_in_proportion(stratum, number, rng, within=split_by_agreement(right, number, each=1))
    is_pool = "pool" in plan.uses
    labels = _ask_experts(plan.protocol, list(models), drawn, stratum if is_pool else None, seed + 1)
    keep = np.isin(np.arange(pool.size), drawn) | is_pool
    known = {name: one.on(keep) for name, one in models.items()}
    said = LabelColumns.of(labels, pool.index)
    made = ov.model_accuracies(known, said, judges={"judge": judge})[plan.model]
    key = "judged" if "judge" in plan.uses else "assisted" if "votes" in plan.uses else next(iter(made))
    return (made[key].high - made[key].low) / 2


def _ask_experts(
    protocol: str, models: Sequence[str], drawn: IntArray, stratum: IntArray | None, seed: int
) -> Labels:
    """Return labels of the drawn items.

    If `stratum` is given, the labels are marked as those of a stratified sample of the pool. If it is
    None, the drawn items are the whole population.
    """
    pool = load_bundled()
    rule = make_rule(protocol, ROSTER, pool.votes(models, drawn), seed)
    labels = collect_labels(rule, [pool.items[j] for j in drawn.tolist()], pool.key)
    if stratum is None:
        return labels
    return labels.drawn_from({str(j): str(stratum[j]) for j in drawn.tolist()}, pool_size=pool.size)


RIVALS = {"ppi": "ppi-python", "glide": "glide-py", "cje": "cje-eval"}
QUESTIONS, ITEMS = 200, 300
FEW = 0.03
"""Minimum share of draws in which a measure is not withheld, for its coverage to be counted."""
REAL = ("gemini-1.5-pro-002", "Meta-Llama-3_1-70B-Instruct")
TRANSPORTS = (
    *(("calibrated", kind) for kind in ("calibrated", "overconfident", "reversed")),
    *((kind, kind) for kind in ("one field", "copying")),
)
"""Kind of judge whose calibration is fitted, and kind of judge on which it is tested."""
MARGIN = 0.1


@dataclass
class Drawn:
    """Draws with one judge: our estimates, plain means, true accuracies, and the draws for the rivals."""

    ours: Estimates = field(default_factory=Estimates)
    plain: Estimates = field(default_factory=Estimates)
    exact: list[float] = field(default_factory=list)
    draws: list[tuple[Any, Any, IntArray]] = field(default_factory=list)


def main() -> None:
    args = read_options(__doc__, {"--draws": (400, 100)})
    draws, started = args.draws, time.perf_counter()
    pool = load_bundled()
    quality, withheld = show_quality(pool, max(20, draws // 2))
    pooled, ratios, pool_width = show_pool(pool, draws)
    routed, routed_width = show_partitioned(pool, draws)
    false_pass = max(show_transport(pool, *kinds, 4 * draws) for kinds in TRANSPORTS)
    plan_kept = show_plans(CELLS[:-1] if args.quick else CELLS, max(10, draws * 2 // 5))
    result = {
        "coverage_min": round(min(quality, pooled, routed), 4),
        "saved_vs_best_rival": round(sorted(ratios, reverse=True)[3], 3) if ratios else None,
        "bad_judge_width": round(max(pool_width, routed_width), 4),
        "transport_false_pass": round(false_pass, 4),
        "withheld_max": round(withheld, 4),
        "plan_kept_min": round(plan_kept, 4),
        "draws": draws,
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(result))


def show_quality(pool: Pool, draws: int) -> tuple[float, float]:
    """Print the coverage of quality measures. Returns the lowest coverage, and the largest share withheld."""
    print(f"quality, {draws} draws per judge and design, {ITEMS} items: coverage over all judges (withheld)")
    least, most = 1.0, 0.0
    for design in DESIGNS:
        held = defaultdict[str, list[Outcome]](list)
        for kind in JUDGES:
            for name, outcome in see_quality(pool, design, kind, ITEMS, draws):
                held[name].append(outcome)
        cells = [Cell.of(name, outcomes) for name, outcomes in held.items()]
        known = [cell for cell in cells if 1 - cell.withheld > FEW]
        most = max([most, *(cell.withheld for cell in cells)])
        least = min([least, *(cell.coverage for cell in known)])
        words = ", ".join(f"{cell.name} {cell.coverage:.3f} ({cell.withheld:.1%})" for cell in known)
        print(f"  {design}: {words}", flush=True)
    return least, most


def show(found: Estimates) -> str:
    return f"{found.coverage:.3f}/{found.width:.3f}"


def show_pool(pool: Pool, draws: int) -> tuple[float, list[float], float]:
    """Print the savings by our estimate and by the rivals' on a pool.

    Returns our lowest coverage, the ratios of our saving to the best rival's, and the largest width with a
    bad judge divided by that without a judge.
    """
    print(f"\n{QUESTIONS} items of {pool.size}, {draws} draws per judge: saving / coverage / width")
    made = {kind: _draw_pool(pool, kind, draws) for kind in (*JUDGES, *REAL)}
    rivals = _ask_rivals(made)
    ratios = []
    for kind, one in made.items():
        rows = {"ours": one.ours} | {rival: found[kind] for rival, found in rivals.items() if kind in found}
        savings = {name: one.plain.mse / found.mse for name, found in rows.items()}
        words = [f"{name} {savings[name]:.2f}/{show(found)}" for name, found in rows.items()]
        print(f"  {kind}: without {show(one.plain)}; {', '.join(words)}")
        if kind in JUDGES and len(rows) > 1:
            ratios.append(savings["ours"] / max(v for name, v in savings.items() if name != "ours"))
    least = min(one.ours.coverage for one in made.values())
    return least, ratios, max(made[kind].ours.width / made[kind].plain.width for kind in BAD)


def _draw_pool(pool: Pool, kind: str, draws: int) -> Drawn:
    """Draw items and estimate with a judge, and by the plain mean."""
    made = Drawn()
    names = [name for name in pool.models if name != kind]
    for seed in range(draws):
        rng, predicted = np.random.default_rng([22, seed]), pool.models[names[seed % len(names)]]
        right = predicted == pool.truth
        exact, drawn = float(right.mean()), rng.choice(pool.size, QUESTIONS, replace=False)
        if kind in pool.models:
            judge = as_voter(pool, pool.models[kind])
        else:
            judge = as_judge(pool, simulate(pool, kind, predicted, rng))
        p = np.nan_to_num(judge.p, nan=1 / K)
        score = np.where(predicted >= 0, p[np.arange(pool.size), np.maximum(predicted, 0)], 0.0)
        sample = pool.ask_about(predicted, drawn, np.full(pool.size, QUESTIONS / pool.size))
        found = estimate_working(predicted, sample, weigh_judges([judge]))
        hits = int(right[drawn].sum())
        low, high = clopper_pearson(hits, QUESTIONS, 0.95)
        unit = _unit(exact)
        made.ours.add(found, exact, unit)
        made.plain.add_ends(hits / QUESTIONS, low, high, exact, unit)
        made.exact.append(exact)
        made.draws.append((right[drawn], score.astype(np.float32), drawn))
    return made


def _ask_rivals(made: Mapping[str, Drawn]) -> dict[str, dict[str, Estimates]]:
    """Return each rival's estimates on the draws in `made`, by rival and judge.

    Rivals that cannot be installed, and judges that a rival refuses, are left out.
    """
    found = dict[str, dict[str, Estimates]]()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "draws.npz"
        right, score, drawn = zip(*(draw for one in made.values() for draw in one.draws), strict=True)
        np.savez(file, right=right, score=score, drawn=drawn)
        for rival, package in RIVALS.items():
            own = f"judges-{rival}"
            python = ">=3.12" if rival == "glide" else ""  # older versions cannot install it
            told = run_peers("_judge_rivals.py", [package], rival, file, folder=own, python=python)
            if told:
                found[rival] = _read_rows(package, told["rows"], made)
    return found


def _read_rows(package: str, rows: list[Any], made: Mapping[str, Drawn]) -> dict[str, Estimates]:
    """Split a rival's results by judge, and scale them. A judge is left out if the rival refuses a draw."""
    found, left = dict[str, Estimates](), iter(rows)
    for kind, one in made.items():
        mine = list(islice(left, len(one.exact)))
        refused = [row for row in mine if isinstance(row, str)]
        if refused:
            print(f"  {package} refuses {len(refused)} of {len(mine)} draws of {kind}: {refused[0]}")
            continue
        found[kind] = Estimates()
        for row, exact in zip(mine, one.exact, strict=True):
            found[kind].add_ends(row[0], row[1], row[2], exact, _unit(exact))
    return found


def _unit(exact: float) -> float:
    """Return the standard error of the plain mean of `QUESTIONS` answers."""
    return float(np.sqrt(exact * (1 - exact) / QUESTIONS))


def show_partitioned(pool: Pool, draws: int) -> tuple[float, float]:
    """Print what judges save, and coverage and width, if one random option per item is asked about.

    Returns the lowest coverage, and the largest width with a bad judge divided by that without a judge.
    """
    print(f"\none random option of {ITEMS} items, {draws} draws per judge: saving / coverage / width")
    least, worst = 1.0, 0.0
    names = list(pool.models)
    for kind in JUDGES:
        ours, plain = Estimates(), Estimates()
        for seed in range(draws):
            rng, predicted = np.random.default_rng([23, seed]), pool.models[names[seed % len(names)]]
            exact = float((predicted == pool.truth).mean())
            p = simulate(pool, kind, predicted, rng)
            drawn = rng.choice(pool.size, ITEMS, replace=False)
            asked, _ = ask(pool, "partitioned", [predicted], drawn, rng)
            chances = np.full((ITEMS, K), 1 / K)
            sample = RoutedSample(np.arange(ITEMS), asked.option, asked.answer, chances, np.full(ITEMS, K))
            judge = JudgeProbabilities(p=p[drawn], n_options=np.full(ITEMS, K))
            with_judge = estimate_working(predicted[drawn], sample, weigh_judges([judge]))
            without = routed_accuracy(predicted[drawn], sample)
            for rows, made in ((ours, with_judge), (plain, without)):
                rows.add_ends(made.clipped, made.low, made.high, exact, _unit(exact))
        print(f"  {kind}: without {show(plain)}; ours {plain.mse / ours.mse:.2f}/{show(ours)}", flush=True)
        least = min(least, ours.coverage)
        if kind in BAD:
            worst = max(worst, ours.width / plain.width)
    return least, worst


def show_transport(pool: Pool, source_kind: str, target_kind: str, draws: int) -> float:
    """Print verdicts on whether a calibration transfers. Returns the share of false passes."""
    verdicts = Counter[str]()
    fields, names = np.unique(pool.subject).tolist(), list(pool.models)
    false = beyond = 0
    for seed in range(draws):
        rng = np.random.default_rng([24, seed])
        first, other = (pool.models[name] for name in rng.choice(names, 2, replace=False))
        inside = np.isin(pool.subject, rng.choice(fields, len(fields) // 2, replace=False))
        source, target = np.flatnonzero(inside), np.flatnonzero(~inside)
        before = as_judge(pool, simulate(pool, source_kind, first, rng))
        after = as_judge(pool, simulate(pool, target_kind, other, rng))
        calibration = calibrate(before, _check(pool, first, rng.choice(source, 400)))
        few = _check(pool, other, rng.choice(target, 1000))
        made = check_transport("judge", after, calibration, few, margin=MARGIN)
        verdicts[made.verdict] += 1
        every = _check(pool, other, target)
        f = calibration.apply(after.p[every.item, every.option])
        error = every.answer - f
        gaps = [abs(float(error[(f >= part.start) & (f <= part.end)].mean())) for part in made.parts]
        if gaps and max(gaps) >= MARGIN:
            beyond += 1
            false += made.verdict == PASS
    found = f"{dict(verdicts)}; beyond the margin {beyond}, passed {false}"
    print(f"  transport {source_kind} → {target_kind}: {found}", flush=True)
    return false / beyond if beyond else 0.0


def show_plans(cells: Sequence[PlanCell], draws: int) -> float:
    """Print the share of planned studies that reach their half-width. Returns the lowest share."""
    print(f"\ncheapest mix by a pilot of {PILOT} items, {draws} studies: share that reaches the half-width")
    least = 1.0
    with ProcessPoolExecutor(mp_context=get_context("fork")) as workers:
        for cell in cells:
            found = [one for one in workers.map(partial(plan_and_run, cell), range(draws)) if one]
            share = float(np.mean([width <= cell.half_width + 1e-9 for _, width in found]))
            uses = Counter(plan.uses for plan, _ in found).most_common()
            words = ", ".join(f"{name} {number}" for name, number in uses)
            questions = np.median([plan.questions for plan, _ in found])
            print(f"  {cell}: {share:.2f} of {len(found)}, {questions:.0f} questions; {words}", flush=True)
            least = min(least, share)
    return least


def _check(pool: Pool, predicted: np.ndarray[Any, Any], items: np.ndarray[Any, Any]) -> Any:
    """Return answered questions about a model's predictions on these items; an item can occur repeatedly."""
    questions, _ = ask(pool, "targeted", [predicted], items, np.random.default_rng(0))
    return questions


if __name__ == "__main__":
    main()
