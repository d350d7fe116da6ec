"""Coverage and width of every interval by exact enumeration over all outcomes; nothing is simulated.

For K options, n labels and three kinds of data (uniform routing with n/K yes-answers, refusals
alone, targeted questions) and a grid of accuracies: the probability that the 95 % interval holds
the accuracy. Outcomes that are improbable at every accuracy count as missed, so the figures are
lower bounds (by less than 1e-5); so do those of which an interval is withheld, as the published one where the
standard error is 0. The last line is a JSON object.

    python benchmarks/coverage.py [--quick]
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from oversight.harness.errors import EstimateError
from oversight.harness.estimate import BinomialSample, Point, make_interval, make_point, success_probability

Floats = NDArray[np.float64]
ACCURACIES = np.concatenate(
    [np.arange(0.2, 0.9, 0.02), [0.9, 0.92, 0.93, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99]]
)
SHARED = ("exact", "score", "likelihood_ratio", "wald", "hoeffding", "bernstein")
ONE_SAMPLE = (*SHARED, "wilson", "jeffreys", "clopper_pearson")
NEGLIGIBLE = 1e-9
WITHHELD = (2.0, 2.0)
"""Holds no accuracy, and has no width."""


@dataclass
class Found:
    """Coverage at every accuracy of one design, and the mean width, by method."""

    coverage: dict[str, Floats] = field(default_factory=dict)
    width: dict[str, Floats] = field(default_factory=dict)


def enumerate_design(K: int, n_o: int, n_c: int, level: float = 0.95) -> Found:
    """Sum over all outcomes of one design."""
    estimator, methods = ("ml", SHARED) if n_o and n_c else ("ord" if n_o else "comp", ONE_SAMPLE)
    mass_o = [binom.pmf(np.arange(n_o + 1), n_o, A) for A in ACCURACIES]
    mass_c = [binom.pmf(np.arange(n_c + 1), n_c, success_probability(K, A)) for A in ACCURACIES]
    found = Found()
    names = [*methods, "wald_published"]
    for name in names:
        found.coverage[name] = np.zeros(ACCURACIES.size)
        found.width[name] = np.zeros(ACCURACIES.size)
    for S_o, S_c in itertools.product(range(n_o + 1), range(n_c + 1)):
        chance = np.array([o[S_o] * c[S_c] for o, c in zip(mass_o, mass_c, strict=True)])
        if chance.max() < NEGLIGIBLE:
            continue
        hits, misses = BinomialSample(2, n_o, S_o), (BinomialSample(K, n_c, S_c),) if n_c else ()
        p = make_point(estimator, hits, misses)
        published = make_point(estimator, hits, misses, published=True)
        for name in names:
            low, high = ends(p, published, name, level)
            found.coverage[name] += chance * ((low - 1e-9 <= ACCURACIES) & (high + 1e-9 >= ACCURACIES))
            found.width[name] += chance * (high - low)
    return found


def ends(p: Point, published: Point, name: str, level: float) -> tuple[float, float]:
    point, method = (published, "wald") if name == "wald_published" else (p, name)
    try:
        made = make_interval(point, method, level)
    except EstimateError:
        return WITHHELD
    return made.low, made.high


def designs(*, quick: bool) -> list[tuple[str, int, int, int]]:
    """(kind of data, K, n_o, n_c)."""
    sizes = (30, 88, 120) if quick else (30, 88, 120, 300)
    options = (3, 4, 10, 16) if quick else (3, 4, 5, 10, 16)
    found = [("targeted", 2, n, 0) for n in sizes]
    for K, n in itertools.product(options, sizes):
        n_o = round(n / K)
        found += [("uniform", K, n_o, n - n_o), ("refusals", K, 0, n)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer K and n, under 50 s")
    quick = parser.parse_args().quick
    started = time.perf_counter()
    gathered: dict[str, dict[str, list[Floats]]] = {}
    relative: dict[str, dict[str, list[float]]] = {}
    print("data       K  n_o  n_c  method            least  at A   mean  width (1: score)")
    for kind, K, n_o, n_c in designs(quick=quick):
        found = enumerate_design(K, n_o, n_c)
        for name, coverage in found.coverage.items():
            worst = int(coverage.argmin())
            width = float(np.mean(found.width[name] / found.width["score"]))
            print(
                f"{kind:<9} {K:>2} {n_o:>4} {n_c:>4}  {name:<16} {coverage[worst]:>6.3f} "
                f"{ACCURACIES[worst]:>5.2f} {coverage.mean():>6.3f} {width:>6.2f}"
            )
            gathered.setdefault(kind, {}).setdefault(name, []).append(coverage)
            relative.setdefault(kind, {}).setdefault(name, []).append(width)
    print(json.dumps(summary(gathered, relative, quick=quick, seconds=time.perf_counter() - started)))


def summary(
    gathered: dict[str, dict[str, list[Floats]]],
    relative: dict[str, dict[str, list[float]]],
    *,
    quick: bool,
    seconds: float,
) -> dict[str, object]:
    """Least and mean coverage and the width relative to the score interval, by data and method."""

    def table(kind: str) -> dict[str, dict[str, float]]:
        return {
            name: {
                "coverage_least": round(float(min(c.min() for c in all_)), 4),
                "coverage_mean": round(float(np.mean([c.mean() for c in all_])), 4),
                "width_vs_score": round(float(np.mean(relative[kind][name])), 3),
            }
            for name, all_ in gathered[kind].items()
        }

    return {
        "benchmark": "coverage",
        "quick": quick,
        "level": 0.95,
        "seconds": round(seconds, 1),
        **{kind: table(kind) for kind in gathered},
    }


if __name__ == "__main__":
    main()
