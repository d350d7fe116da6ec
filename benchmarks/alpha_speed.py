"""Krippendorff's alpha of a million ratings, beside published implementations in the same run.

A million ratings by 1,000 annotators over 20 categories, 100 to an item. Ours takes the long form (three
arrays), as it comes from a file; what others take is made before their clock starts. NLTK loops over ratings
in Python and is timed on a fortieth. Implementations that are not installed are named as such: the
fast one is GPL and no dependency of this project; it is timed where a person has installed it.

    python benchmarks/alpha_speed.py [--quick] [--ratings 1000000]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.panel import Panel, krippendorff_alpha, pairwise
from harness.panel.ratings import MISSING

ANNOTATORS, CATEGORIES, EACH = 1000, 20, 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="once instead of five times")
    parser.add_argument("--ratings", type=int, default=1_000_000)
    args = parser.parse_args()
    times = 1 if args.quick else 5
    panel = simulated(args.ratings)
    print(f"{args.ratings:,} ratings, {ANNOTATORS} annotators, {CATEGORIES} categories; best of {times}")
    results = {
        "ours": timed("ours, long form to alpha", lambda: krippendorff_alpha(votes(panel)).value, times)
    }
    boot = lambda: krippendorff_alpha(panel.votes(), bootstrap=20).value  # noqa: E731  one expression, timed
    results["ours_20_resamples"] = timed("ours, with 20 resamples", boot, 1)
    results["ours_all_pairs"] = timed("ours, Cohen's kappa of all pairs", lambda: pairs(panel), 1)
    results |= peers(panel, times)
    for name, seconds in results.items():
        if name not in ("ours", "ours_20_resamples", "ours_all_pairs"):
            print(f"ours / {name}: 1 : {seconds / results['ours']:.1f}")
    print(json.dumps({"benchmark": "alpha_speed", "ratings": args.ratings, "seconds": results}))


def simulated(ratings: int) -> Panel:
    """Annotators who copy an item's truth with probability .6 and else draw."""
    rng = np.random.default_rng(0)
    n = ratings // EACH
    item = np.repeat(np.arange(n), EACH)
    annotator = np.concatenate([rng.choice(ANNOTATORS, EACH, replace=False) for _ in range(n)])
    truth = rng.integers(CATEGORIES, size=n)
    label = np.where(rng.random(n * EACH) < 0.6, truth[item], rng.integers(CATEGORIES, size=n * EACH))
    names = [tuple(map(str, range(k))) for k in (n, ANNOTATORS, CATEGORIES)]
    return Panel(names[0], names[1], names[2], item, annotator, label)


def votes(panel: Panel) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Make the panel anew, checks and all, and count."""
    again = Panel(panel.items, panel.annotators, panel.classes, panel.item, panel.annotator, panel.label)
    return again.votes()


def pairs(panel: Panel) -> float:
    """Median kappa of all pairs."""
    return float(np.nanmedian(pairwise(panel).kappa))


def peers(panel: Panel, times: int) -> dict[str, float]:
    """Whatever is installed of what others published."""
    results: dict[str, float] = {}
    if importlib.util.find_spec("nltk") is not None:
        small = simulated(len(panel.item) // 40)
        rows = [(f"a{a}", i, c) for i, a, c in zip(small.item, small.annotator, small.label, strict=True)]

        def nltk_alpha() -> float:
            module: Any = importlib.import_module("nltk.metrics.agreement")
            return float(module.AnnotationTask(data=rows).alpha())

        ours = krippendorff_alpha(small.votes()).value
        seconds = timed("nltk, a fortieth of the ratings", nltk_alpha, 1, expect=ours)
        results["nltk_times_40"] = 40 * seconds
    else:
        print(f"{'nltk':<36} not installed")
    if importlib.util.find_spec("krippendorff") is not None:
        grid = panel.grid().T.astype(float)
        grid[grid == MISSING] = np.nan
        krippendorff: Any = importlib.import_module("krippendorff")
        ours = krippendorff_alpha(panel.votes()).value
        results["krippendorff"] = timed(
            "krippendorff, matrix to alpha",
            lambda: float(krippendorff.alpha(reliability_data=grid, level_of_measurement="nominal")),
            times,
            expect=ours,
        )
    else:
        print(f"{'krippendorff (GPL)':<36} not installed")
    return results


def timed(name: str, work: Callable[[], float], times: int, expect: float | None = None) -> float:
    """Best of some runs; the value must be the expected one."""
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        value = work()
        best = min(best, time.perf_counter() - started)
    assert expect is None or abs(value - expect) < 1e-6, (name, value, expect)
    print(f"{name:<36} {best:>8.3f} s   {value:.6f}")
    return best


if __name__ == "__main__":
    main()
