"""Real predictions of twenty models on MMLU-Pro: how often does each interval hold the known accuracy?

For every label seed, items are drawn from the ten-option part, one uniformly drawn option of each
is verified (yes: ordinary, no: complementary label), and every estimator's 95 % interval is
compared with the model's accuracy on the whole part.

    python benchmarks/mmlu_pro_coverage.py [--quick] [--items 600] [--seeds 200]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from oversight.harness.estimate import accuracies
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus

K = 10
IntArray = NDArray[np.int64]
FOLDER = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer seeds, under 50 s")
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=200)
    args = parser.parse_args()
    seeds = 10 if args.quick else args.seeds
    started = time.perf_counter()
    truth, models = load()
    held: dict[str, list[bool]] = defaultdict(list)
    width: dict[str, list[float]] = defaultdict(list)
    by_model: dict[str, list[bool]] = defaultdict(list)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(truth), size=args.items, replace=False)
        labels = verified(drawn, truth, rng)
        for name, option in models.items():
            A = float(np.mean(option == truth))
            for estimator, e in accuracies(predictions(drawn, option), labels).items():
                held[estimator].append(e.low <= A <= e.high)
                width[estimator].append(e.high - e.low)
                if estimator == "ml":
                    by_model[name].append(e.low <= A <= e.high)
    print(f"{len(models)} models x {seeds} seeds, {args.items} items a time, K = {K}, nominal 95 %")
    print(f"{'estimator':<10} {'interval holds the truth':>25} {'mean width':>11}")
    for estimator, hits in held.items():
        print(f"{estimator:<10} {np.mean(hits):>24.1%} {np.mean(width[estimator]):>11.3f}")
    worst = min(by_model, key=lambda name: float(np.mean(by_model[name])))
    print(f"ml, worst model: {worst} {np.mean(by_model[worst]):.1%}")
    print(
        json.dumps(
            {
                "coverage": {e: round(float(np.mean(h)), 4) for e, h in held.items()},
                "width": {e: round(float(np.mean(w)), 4) for e, w in width.items()},
                "models": len(models),
                "seeds": seeds,
                "seconds": round(time.perf_counter() - started, 1),
            }
        )
    )


def load() -> tuple[IntArray, dict[str, IntArray]]:
    """Read the true option and every model's option (-1: unreadable) of the ten-option items."""
    path = FOLDER / "mmlu_pro_model_predictions.parquet"
    if not path.exists():
        sys.exit(f"{path} is not there; set OVERSIGHT_DATASETS")
    columns = pq.read_table(path, use_threads=False).to_pydict()
    keep = [j for j, k in enumerate(columns["n_options"]) if k == K]
    names = [n for n in columns if n not in ("question_id", "category", "n_options", "answer")]

    def options(name: str) -> IntArray:
        letters = [columns[name][j] for j in keep]
        return np.array([ord(x) - 65 if x is not None and 0 <= ord(x) - 65 < K else -1 for x in letters])

    return options("answer"), {name: options(name) for name in names}


def verified(drawn: IntArray, truth: IntArray, rng: np.random.Generator) -> list[Label]:
    """Draw one option per item and say whether it is the true one."""
    asked = rng.integers(K, size=len(drawn))
    return [
        Label(str(j), int(k), LabelKind.ORDINARY if k == truth[j] else LabelKind.COMPLEMENTARY, K, 1 / K)
        for j, k in zip(drawn, asked, strict=True)
    ]


def predictions(drawn: IntArray, option: IntArray) -> list[Prediction]:
    """Make the drawn items' predictions of one model."""
    return [
        Prediction(str(j), int(option[j]))
        if option[j] >= 0
        else Prediction(str(j), None, PredictionStatus.UNREADABLE, "none")
        for j in drawn
    ]


if __name__ == "__main__":
    main()
