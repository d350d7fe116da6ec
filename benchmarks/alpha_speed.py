"""Krippendorff's alpha of a million ratings, beside published implementations in the same run.

A million ratings by 1,000 annotators over 20 categories, 100 to an item. Ours takes the long form (three
arrays), as it comes from a file, checks it and counts; what others take is made before their clock starts.
They run in an environment of their own (the fastest is GPL, and no part of this project); those that loop
over ratings in Python get a fortieth of the items, and their time is multiplied.

    python benchmarks/alpha_speed.py [--quick] [--ratings 1000000]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks._peers import run_peers
from oversight.harness.panel import Panel, krippendorff_alpha, pairwise

ANNOTATORS, CATEGORIES, EACH = 1000, 20, 100
PEERS = ("krippendorff==0.9.0", "simpledorff==0.0.2", "irrCAC==0.4.4", "nltk==3.10.4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="once instead of five times")
    parser.add_argument("--ratings", type=int, default=1_000_000)
    args = parser.parse_args()
    times = 1 if args.quick else 5
    panel = simulated(args.ratings)
    print(f"{args.ratings:,} ratings, {ANNOTATORS} annotators, {CATEGORIES} categories; best of {times}")
    ours = timed("ours, long form to alpha", lambda: krippendorff_alpha(votes(panel)).value, times)
    counted = votes(panel)
    few = lambda: krippendorff_alpha(counted).value  # noqa: E731
    results = {"ours": ours, "ours, from counts": timed("ours, from counts", few, times)}
    boot = lambda: krippendorff_alpha(panel.votes(), bootstrap=20).value  # noqa: E731  one expression, timed
    results["ours, with 20 resamples"] = timed("ours, with 20 resamples", boot, 1)
    results["ours, all pairs"] = timed("ours, Cohen's kappa of all pairs", lambda: pairs(panel), 1)
    results |= peers(panel, ours, times)
    assert args.ratings > 1_000_000 or ours < 2, f"alpha took {ours:.2f} s"
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
    return Panel(
        items=names[0], annotators=names[1], classes=names[2], item=item, annotator=annotator, label=label
    )


def votes(panel: Panel) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Make the panel anew, checks and all, and count."""
    return replace(panel).votes()


def pairs(panel: Panel) -> float:
    """Median kappa of all pairs."""
    return float(np.nanmedian(pairwise(panel).kappa))


def peers(panel: Panel, ours: float, times: int) -> dict[str, float]:
    """What others published, each against our value on the same ratings."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "panel.npz")
        np.savez(path, item=panel.item, annotator=panel.annotator, label=panel.label)
        found = run_peers("_alpha_peers.py", PEERS, path, str(times))
    results: dict[str, float] = {}
    for name, one in found.items():
        part = int(one.get("part", 1))
        few = panel.item < len(panel.items) // part
        n = len(panel.items) // part
        counts = np.bincount(panel.item[few] * CATEGORIES + panel.label[few], minlength=n * CATEGORIES)
        value = krippendorff_alpha(counts.reshape(n, CATEGORIES)).value
        assert abs(value - one["value"]) < 6e-6, (name, value, one)  # irrCAC rounds to five digits
        results[name] = part * one["seconds"]
        note = f" (a {part}th of the items, times {part})" if part > 1 else ""
        rate = results[name] / ours
        print(f"{name:<36} {results[name]:>8.3f} s   {one['value']:.6f}   ours is {rate:.1f} x as fast{note}")
    return results


def timed(name: str, work: Callable[[], float], times: int) -> float:
    """Best of some runs."""
    best, value = float("inf"), 0.0
    for _ in range(times):
        started = time.perf_counter()
        value = work()
        best = min(best, time.perf_counter() - started)
    print(f"{name:<36} {best:>8.3f} s   {value:.6f}")
    return best


if __name__ == "__main__":
    main()
