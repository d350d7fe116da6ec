"""How long a million labelled items and twenty models take, against pandas doing the sums alone.

Both start from the same arrays. Ours: validation, counts, five estimators with score intervals for
every model. pandas: a group-by per model over answer and readability that sums the hits, nothing
else. Run on one core. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oversight.harness.columns import (
    ItemIndex,
    LabelColumns,
    OfferedOptions,
    PredictionColumns,
    QuestionColumns,
)
from oversight.harness.estimate import Estimates, Tallies, all_estimators, tally

K = 10
T = TypeVar("T")
Data = tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int8], NDArray[np.int8], NDArray[np.int32]]


def make(n_items: int, n_models: int, seed: int) -> Data:
    """Predictions of models between 30 % and 95 % right, 1 % unreadable; one uniform question per item."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, n_items, np.int8)
    option = rng.integers(0, K, n_items, np.int8)
    y_hat = np.empty((n_models, n_items), np.int8)
    for row, A in zip(y_hat, np.linspace(0.3, 0.95, n_models), strict=True):
        draw = rng.random(n_items, np.float32)
        other = (truth + rng.integers(1, K, n_items, np.int8)) % K
        row[:] = np.where(draw < A * 0.99, truth, np.where(draw < 0.99, other, -1))
    kind = (option == truth).astype(np.int8)
    return y_hat, option, kind, np.full(n_items, K, np.int8), np.arange(n_items, dtype=np.int32)


def ours(data: Data) -> tuple[tuple[Tallies, ...], list[Estimates]]:
    y_hat, option, kind, n_options, item = data
    labels = label_columns(option, kind, n_options, item)
    models = [PredictionColumns(index=labels.index, option=row) for row in y_hat]
    tallies = tuple(tally(model, labels) for model in models)
    return tallies, [all_estimators(t, interval="score") for t in tallies]


def label_columns(
    option: NDArray[Any], kind: NDArray[Any], n_options: NDArray[Any], item: NDArray[Any]
) -> LabelColumns:
    """Labels about options drawn uniformly: option, kind and place of the item of each; K of every item."""
    count, index = len(option), ItemIndex(len(n_options), lambda: list(map(str, range(len(n_options)))))
    zeros = np.zeros(count + 1, np.int64)
    questions = QuestionColumns(
        index=index,
        item=item,
        option=option,
        n_options=n_options[item].astype(np.int64),
        propensity=1 / n_options[item],
        expert=zeros[1:],
        experts=[""],
        offered=OfferedOptions(start=zeros, values=np.zeros(0)),
        place=zeros[1:] - 1,
    )
    asked = np.zeros(index.size, np.bool_)
    return LabelColumns(questions=questions, kind=kind, statements=(), drawn=None, asked=asked)


def with_pandas(data: Data) -> list[tuple[int, int, int, int]]:
    import pandas as pd  # not at the top: its memory is not ours

    y_hat, option, kind, _, _ = data
    frame = pd.DataFrame({"option": option, "kind": kind})
    found = []
    for row in y_hat:
        frame["hit"] = row == frame["option"]
        frame["readable"] = row >= 0
        sums = frame.groupby(["kind", "readable"])["hit"].agg(["sum", "count"])
        (T_c, n_c), (S_o, n_o) = (sums.to_numpy()[sums.index.get_loc((k, True))] for k in (0, 1))
        found.append((int(S_o), int(n_o), int(n_c - T_c), int(n_c)))
    return found


def best_of(repeats: int, call: Callable[[Data], T], data: Data) -> tuple[float, T]:
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        result = call(data)
        seconds.append(time.perf_counter() - started)
    return min(seconds), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two repetitions")
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--models", type=int, default=20)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    data = make(arguments.items, arguments.models, seed=1)
    repeats = 2 if arguments.quick else 5
    seconds, (tallies, estimates) = best_of(repeats, ours, data)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pandas_seconds, sums = best_of(repeats, with_pandas, data)
    counted = [(s.S_o, s.n_o, s.S_c, s.n_c) for t in tallies for s in t.strata]
    assert counted == sums, "pandas counts something else"
    print(f"{'model':>5} {'true':>6}  {'ml':>7}  score interval 95 %")
    for m, e in enumerate(estimates):
        true = 0.99 * np.linspace(0.3, 0.95, arguments.models)[m]
        print(f"{m:>5} {true:>6.3f}  {e['ml'].value:>7.4f}  [{e['ml'].low:.4f}, {e['ml'].high:.4f}]")
    print(f"ours {seconds:.2f} s (5 estimators, intervals), pandas {pandas_seconds:.2f} s (sums only)")
    print(
        json.dumps(
            {
                "benchmark": "estimators",
                "items": arguments.items,
                "models": arguments.models,
                "seconds": round(seconds, 3),
                "pandas_seconds": round(pandas_seconds, 3),
                "vs_pandas": round(pandas_seconds / seconds, 2),
                "peak_mb": round(peak_mb, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
