"""Measure how many questions are saved by votes and judges, on twenty models' real predictions.

A saving is the mean squared error of the plain estimate divided by that of the assisted estimate. It is the
factor by which the plain estimate would need more questions.

1. Votes: items with 2 to 10 options are drawn from MMLU-Pro, and models at random. The protocol draws one
   question per item, and experts answer from the published truth. `oversight.model_accuracies` gives
   the protocol's plain estimate and the estimate assisted by all models' votes, for `TARGETS` models.
2. Judges of known quality (`_simulated_judges.py`), with 300 questions. Items are drawn from the whole set
   uniformly ("pool"); by the judge's uncertainty, as with `draw = "deviation"`; or in two such draws, the
   second of which uses the answers to the first ("learned", not with --quick). With "uniform", one random
   option of each of 300 random items is asked about.
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

import argparse
import json
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import oversight as ov
from benchmarks._pool_efficiency import see_pools
from benchmarks._real_predictions import ROSTER, Pool, Seen, collect, load, predictions
from benchmarks._simulated_judges import DRAWS, JUDGES, judge_pool, judge_uniform
from oversight.protocols.routing import Partitioned, Targeted

Design = tuple[str, int, int]
"""Protocol, number of models, number of items."""
JudgedWay = tuple[str, str]
"""Way to draw items, and kind of judge."""
DESIGNS: tuple[Design, ...] = tuple(
    (protocol, models, items)
    for protocol in ("uniform", "targeted")
    for models in (4, 12)
    for items in (100, 300)
)
TARGETS = 4
LOADED: list[Pool] = []
"""The data, loaded once before the workers start."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer draws, under 4 minutes")
    parser.add_argument("--draws", type=int, help="studies a design (default: 200, quick 30)")
    args = parser.parse_args()
    draws, started = args.draws or (30 if args.quick else 200), time.perf_counter()
    LOADED.append(load())
    # Forked workers inherit the loaded data.
    with ProcessPoolExecutor(mp_context=get_context("fork")) as workers:
        pools = workers.submit(_see_pools, draws)
        studies = {design: workers.submit(see, design, draws) for design in DESIGNS}
        ways = {name: shares for name, shares in DRAWS.items() if not args.quick or len(shares) < 2}
        judged_draws = {
            (way, kind): workers.submit(see_judge, way, kind, draws if way == "pool" else 2 * draws)
            for way in ("uniform", *ways)
            for kind in JUDGES
        }
        found = show_studies(studies, draws)
        judged = show_judges(judged_draws, 2 * draws)
        words, pool = pools.result()
        print(words)
    result = {
        "votes4": round(found["uniform", 4, 300].ratio, 2),
        "votes12": round(found["uniform", 12, 300].ratio, 2),
        "coverage_min": round(min(float(np.mean(seen.held)) for seen in found.values()), 4),
        "judge_08": round(judged["deviation", "auc .80"].ratio, 2),
        "judge_093": round(judged["deviation", "auc .93"].ratio, 2),
        "judge_coverage_min": round(min(float(np.mean(seen.held)) for seen in judged.values()), 4),
        **pool,
        "draws": draws,
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(result))


def show_studies(studies: Mapping[Design, Future[Seen]], draws: int) -> dict[Design, Seen]:
    """Print how many questions the models' votes save in each design. Returns the results by design."""
    print(f"{draws} studies a design, {TARGETS} targets each")
    print(f"{'protocol':<9} {'models':>6} {'items':>5} {'saves':>6} {'holds':>6} {'width':>6} {'plain':>6}")
    found = {}
    for design, future in studies.items():
        seen = found[design] = future.result()
        width, plain = np.mean(seen.widths), np.mean(seen.others)
        shares = f"{seen.ratio:>6.2f} {np.mean(seen.held):>6.1%} {width:>6.3f} {plain:>6.3f}"
        print(f"{design[0]:<9} {design[1]:>6} {design[2]:>5} {shares}", flush=True)
    return found


def show_judges(judged_draws: Mapping[JudgedWay, Future[Seen]], draws: int) -> dict[JudgedWay, Seen]:
    """Print how many questions judges save, by way of drawing and kind of judge. Returns the results."""
    print(f"{draws} studies with a judge each ({draws // 2} with even draws of a pool), 300 questions")
    print(f"{'items':<9} {'judge':<9} {'auc':>5} {'saves':>6} {'holds':>6} {'width':>6}")
    found = {}
    for (way, kind), future in judged_draws.items():
        seen = found[way, kind] = future.result()
        shares = f"{np.mean(seen.others):>5.2f} {seen.ratio:>6.2f} {np.mean(seen.held):>6.1%}"
        print(f"{way:<9} {kind:<9} {shares} {np.mean(seen.widths):>6.3f}", flush=True)
    return found


def see(design: Design, draws: int) -> Seen:
    """Simulate this number of studies of a design."""
    (protocol, number, size), pool = design, LOADED[0]
    rng, seen = np.random.default_rng([number, size]), Seen()
    for seed in range(draws):
        chosen = [pool.items[j] for j in rng.choice(len(pool.items), size, replace=False)]
        names = rng.choice(list(pool.models), number, replace=False).tolist()
        looked_at = {n: {item.id: pool.options[n][item.id] for item in chosen} for n in names}
        rule = Partitioned(ROSTER, seed) if protocol == "uniform" else Targeted(ROSTER, looked_at, seed)
        labels = collect(rule, chosen, pool.key)
        made = ov.model_accuracies({n: predictions(chosen, pool.options[n]) for n in names}, labels)
        for name in names[:TARGETS]:
            plain, assisted = made[name]["ml" if protocol == "uniform" else "routed"], made[name]["assisted"]
            exact = pool.exact[name]
            seen.add(plain.value - exact, assisted, exact, plain.high - plain.low)
    return seen


def see_judge(way: str, kind: str, draws: int) -> Seen:
    """Simulate studies with one kind of judge; `way` is ``"uniform"`` or a key of `DRAWS`."""
    if way == "uniform":
        return judge_uniform(LOADED[0], kind, 300, draws)
    return judge_pool(LOADED[0], kind, 300, draws, shares=DRAWS[way])


def _see_pools(draws: int) -> tuple[str, dict[str, float]]:
    return see_pools(LOADED[0], draws)


if __name__ == "__main__":
    main()
