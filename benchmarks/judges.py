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

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._judge_plans import CELLS, PILOT, PlanCell, PlannedStudies
from benchmarks._judge_pool import BAD, DESIGNS, JUDGES, K, Pool, ask, load_pool, see_quality, simulate
from benchmarks._peers import run_peers
from oversight.harness.estimate import PASS, RoutedSample, clopper_pearson
from oversight.harness.estimate.routed_means import routed_accuracy
from oversight.harness.estimate.side_information import estimate_working
from oversight.harness.judges import JudgeProbabilities, PricedPlan, calibrate, check_transport, weigh_judges

RIVALS = {"ppi": "ppi-python", "glide": "glide-py", "cje": "cje-eval"}
QUESTIONS, ITEMS = 200, 300
FEW = 0.03
"""Minimum share of draws in which a measure is not withheld, for its coverage to be counted."""
STUDIES: list[PlannedStudies] = []
REAL = ("gemini-1.5-pro-002", "Meta-Llama-3_1-70B-Instruct")
Rows = list[tuple[float, float, float]]
"""Per draw: errors of the estimate and of both ends, divided by the standard error of a plain mean."""
Drawn = tuple[Rows, tuple[Rows, list[float]], dict[str, list[Any]]]
"""Rows of our estimate; rows of the plain mean, and true accuracies; the draws, saved for the rivals."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer draws, under 4 minutes")
    parser.add_argument("--draws", type=int, help="draws per judge (default: 400, quick 100)")
    args = parser.parse_args()
    draws, started = args.draws or (100 if args.quick else 400), time.perf_counter()
    pool = load_pool()
    quality, withheld = show_quality(pool, max(20, draws // 2))
    pooled, ratios, pool_width = show_pool(pool, draws)
    routed, routed_width = show_partitioned(pool, draws)
    false_pass = show_transport(pool, 4 * draws)
    plan_kept = show_plans(pool, CELLS[:-1] if args.quick else CELLS, max(10, draws * 2 // 5))
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
        held: dict[str, list[bool | None]] = {}
        for kind in JUDGES:
            for name, told in see_quality(pool, design, kind, ITEMS, draws).items():
                held.setdefault(name, []).extend(told)
        words = []
        for name, told in held.items():
            known = [one for one in told if one is not None]
            silent = 1 - len(known) / len(told)
            most = max(most, silent)
            if len(known) > FEW * len(told):
                least = min(least, float(np.mean(known)))
                words.append(f"{name} {np.mean(known):.3f} ({silent:.1%})")
        print(f"  {design}: {', '.join(words)}", flush=True)
    return least, most


def show_pool(pool: Pool, draws: int) -> tuple[float, list[float], float]:
    """Print the savings by our estimate and by the rivals' on a pool.

    Returns our lowest coverage, the ratios of our saving to the best rival's, and the largest width with a
    bad judge divided by that without a judge.
    """
    print(f"\n{QUESTIONS} items of {pool.size}, {draws} draws per judge: saving / coverage / width")
    least, width, ratios = 1.0, 0.0, list[float]()
    made = {kind: _draw_pool(pool, kind, draws) for kind in (*JUDGES, *REAL)}
    rivals = _ask_rivals(made)
    for kind, (ours, plain, _) in made.items():
        rows = {"ours": ours} | {rival: found[kind] for rival, found in rivals.items() if kind in found}
        savings = {name: _mse(plain[0]) / _mse(found) for name, found in rows.items()}
        words = [
            f"{name} {savings[name]:.2f}/{_coverage(found):.3f}/{_width(found):.3f}"
            for name, found in rows.items()
        ]
        print(f"  {kind}: without {_coverage(plain[0]):.3f}/{_width(plain[0]):.3f}; {', '.join(words)}")
        least = min(least, _coverage(ours))
        if kind in BAD:
            width = max(width, _width(ours) / _width(plain[0]))
        if kind in JUDGES and len(rows) > 1:
            ratios.append(savings["ours"] / max(v for name, v in savings.items() if name != "ours"))
    return least, ratios, width


def _draw_pool(pool: Pool, kind: str, draws: int) -> Drawn:
    """Draw items and estimate with a judge, and by the plain mean. Also returns the draws for the rivals."""
    ours, plain, exacts = Rows(), Rows(), list[float]()
    saved: dict[str, list[Any]] = {"right": [], "score": [], "drawn": []}
    names = [name for name in pool.models if name != kind]
    for seed in range(draws):
        rng, predicted = np.random.default_rng([22, seed]), pool.models[names[seed % len(names)]]
        right = predicted == pool.truth
        exact, drawn = float(right.mean()), rng.choice(pool.size, QUESTIONS, replace=False)
        if kind in pool.models:
            judge = pool.vote(pool.models[kind])
        else:
            judge = pool.probabilities(simulate(pool, kind, predicted, rng))
        p = np.nan_to_num(judge.p, nan=1 / K)
        score = np.where(predicted >= 0, p[np.arange(pool.size), np.maximum(predicted, 0)], 0.0)
        chances = np.zeros((pool.size, K))
        asked = drawn[predicted[drawn] >= 0]
        chances[asked, predicted[asked]] = QUESTIONS / pool.size
        sample = RoutedSample(
            asked, predicted[asked], right[asked].astype(float), chances, pool.n_options, sampled=True
        )
        found = estimate_working(predicted, sample, weigh_judges([judge]))
        hits = int(right[drawn].sum())
        ours.append(_scaled(found.value, found.low, found.high, exact))
        plain.append(_scaled(hits / QUESTIONS, *clopper_pearson(hits, QUESTIONS, 0.95), exact))
        exacts.append(exact)
        saved["right"].append(right[drawn])
        saved["score"].append(score.astype(np.float32))
        saved["drawn"].append(drawn)
    return ours, (plain, exacts), saved


def _scaled(value: float, low: float, high: float, exact: float) -> tuple[float, float, float]:
    scale = float(np.sqrt(exact * (1 - exact) / QUESTIONS))
    return (value - exact) / scale, (low - exact) / scale, (high - exact) / scale


def _ask_rivals(made: Mapping[str, Drawn]) -> dict[str, dict[str, Rows]]:
    """Return each rival's estimates on the draws in `made`, by rival and judge.

    Rivals that cannot be installed, and judges that a rival refuses, are printed and left out.
    """
    found = dict[str, dict[str, Rows]]()
    saved = [one[2] for one in made.values()]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "draws.npz"
        joined: dict[str, Any] = {
            name: np.array([row for one in saved for row in one[name]]) for name in saved[0]
        }
        np.savez(file, **joined)
        for rival, package in RIVALS.items():
            python = _find_python() if rival == "glide" else sys.executable
            told = run_peers(
                "_judge_rivals.py", [package], rival, file, folder=f"judges-{rival}", python=python
            )
            if not told:
                print(f"  {package}: not measured, as it cannot be installed")
                continue
            found[rival] = _read_rows(package, told["rows"], made)
    return found


def _read_rows(package: str, rows: list[Any], made: Mapping[str, Drawn]) -> dict[str, Rows]:
    """Split a rival's results by judge, and scale them. A judge is left out if the rival refuses a draw."""
    found, start = dict[str, Rows](), 0
    for kind, (_, (_, exacts), _) in made.items():
        mine = rows[start : start + len(exacts)]
        start += len(exacts)
        refused = [row for row in mine if isinstance(row, str)]
        if refused:
            print(f"  {package} refuses {len(refused)} of {len(mine)} draws of {kind}: {refused[0]}")
        else:
            found[kind] = [
                _scaled(value, low, high, exact)
                for (value, low, high), exact in zip(mine, exacts, strict=True)
            ]
    return found


def _find_python() -> str:
    """Return a Python of version 3.12 or newer, as glide-py requires; uv searches for one if necessary."""
    if sys.version_info >= (3, 12):
        return sys.executable
    installed = sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"))
    return str(installed[-1]) if installed else ">=3.12"


def show_partitioned(pool: Pool, draws: int) -> tuple[float, float]:
    """Print what judges save, and coverage and width, if one random option per item is asked about.

    Returns the lowest coverage, and the largest width with a bad judge divided by that without a judge.
    """
    print(f"\none random option of {ITEMS} items, {draws} draws per judge: saving / coverage / width")
    least, worst = 1.0, 0.0
    names = list(pool.models)
    for kind in JUDGES:
        ours, plain = Rows(), Rows()
        for seed in range(draws):
            rng, predicted = np.random.default_rng([23, seed]), pool.models[names[seed % len(names)]]
            exact = float((predicted == pool.truth).mean())
            p = simulate(pool, kind, predicted, rng)
            drawn = rng.choice(pool.size, ITEMS, replace=False)
            asked, _ = ask(pool, "partitioned", [predicted], drawn, rng)
            chances = np.full((ITEMS, K), 1 / K)
            sample = RoutedSample(np.arange(ITEMS), asked.option, asked.answer, chances, np.full(ITEMS, K))
            judge = JudgeProbabilities(p=p[drawn], n_options=np.full(ITEMS, K))
            for rows, made in (
                (ours, estimate_working(predicted[drawn], sample, weigh_judges([judge]))),
                (plain, routed_accuracy(predicted[drawn], sample)),
            ):
                rows.append(_scaled(made.clipped, made.low, made.high, exact))
        saving = _mse(plain) / _mse(ours)
        print(
            f"  {kind}: without {_coverage(plain):.3f}/{_width(plain):.3f}; "
            f"ours {saving:.2f}/{_coverage(ours):.3f}/{_width(ours):.3f}",
            flush=True,
        )
        least = min(least, _coverage(ours))
        if kind in BAD:
            worst = max(worst, _width(ours) / _width(plain))
    return least, worst


def show_transport(pool: Pool, draws: int) -> float:
    """Print verdicts on whether a calibration transfers. Returns the largest share of false passes."""
    margin = 0.1
    print(f"\ntransport, {draws} draws, 400 answers here and 1000 there, margin {margin:g}: verdicts")
    worst = 0.0
    fields, names = np.unique(pool.subject).tolist(), list(pool.models)
    for source_kind, target_kind in (
        ("calibrated", "calibrated"),
        ("calibrated", "overconfident"),
        ("calibrated", "reversed"),
        ("one field", "one field"),
        ("copying", "copying"),
    ):
        verdicts, false, beyond = dict.fromkeys(("pass", "fail", "undecided"), 0), 0, 0
        for seed in range(draws):
            rng = np.random.default_rng([24, seed])
            first, other = (pool.models[name] for name in rng.choice(names, 2, replace=False))
            inside = np.isin(pool.subject, rng.choice(fields, len(fields) // 2, replace=False))
            source, target = np.flatnonzero(inside), np.flatnonzero(~inside)
            before = pool.probabilities(simulate(pool, source_kind, first, rng))
            after = pool.probabilities(simulate(pool, target_kind, other, rng))
            calibration = calibrate(before, _check(pool, first, rng.choice(source, 400)))
            few = rng.choice(target, 1000)
            made = check_transport("judge", after, calibration, _check(pool, other, few), margin=margin)
            verdicts[made.verdict] += 1
            every = _check(pool, other, target)
            f = calibration.apply(after.p[every.item, every.option])
            gaps = [
                abs(float((every.answer - f)[(f >= part.start) & (f <= part.end)].mean()))
                for part in made.parts
            ]
            if gaps and max(gaps) >= margin:
                beyond += 1
                false += made.verdict == PASS
        share = false / beyond if beyond else 0.0
        worst = max(worst, share)
        print(f"  {source_kind} → {target_kind}: {verdicts}; beyond the margin {beyond}, passed {false}")
    return worst


def show_plans(pool: Pool, cells: Sequence[PlanCell], draws: int) -> float:
    """Print the share of planned studies that reach their half-width. Returns the lowest share."""
    print(f"\ncheapest mix by a pilot of {PILOT} items, {draws} studies: share that reaches the half-width")
    least = 1.0
    # Append before the fork, so that workers inherit the studies.
    STUDIES.append(PlannedStudies(pool))
    with ProcessPoolExecutor(mp_context=get_context("fork")) as workers:
        for cell in cells:
            found = [one for one in workers.map(partial(_plan_and_run, cell), range(draws)) if one]
            share = float(np.mean([width <= cell.half_width + 1e-9 for _, width in found]))
            uses = Counter(plan.uses for plan, _ in found).most_common()
            words = ", ".join(f"{name} {number}" for name, number in uses)
            questions = np.median([plan.questions for plan, _ in found])
            print(f"  {cell}: {share:.2f} of {len(found)}, {questions:.0f} questions; {words}", flush=True)
            least = min(least, share)
    return least


def _plan_and_run(cell: PlanCell, seed: int) -> tuple[PricedPlan, float] | None:
    return STUDIES[0].plan_and_run(cell, seed)


def _check(pool: Pool, predicted: np.ndarray[Any, Any], items: np.ndarray[Any, Any]) -> Any:
    """Return answered questions about a model's predictions on these items; an item can occur repeatedly."""
    questions, _ = ask(pool, "targeted", [predicted], items, np.random.default_rng(0))
    return questions


def _mse(rows: Rows) -> float:
    return float(np.mean([row[0] ** 2 for row in rows]))


def _coverage(rows: Rows) -> float:
    return float(np.mean([low <= 1e-9 and high >= -1e-9 for _, low, high in rows]))


def _width(rows: Rows) -> float:
    return float(np.mean([high - low for _, low, high in rows]))


if __name__ == "__main__":
    main()
