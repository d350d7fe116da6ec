"""Published implementations of Krippendorff's alpha on one panel; run by alpha_speed.py, elsewhere.

    python _alpha_peers.py PANEL.npz TIMES

The two fast ones get all of it, in either form they take, made before the clock starts. Those that loop over
ratings in Python get the first fortieth of the items.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

PART = 40


def main() -> None:
    panel, times = np.load(sys.argv[1]), int(sys.argv[2])
    item, annotator, label = (panel[name] for name in ("item", "annotator", "label"))
    krippendorff: Any = importlib.import_module("krippendorff")
    few = item < (item.max() + 1) // PART
    found = {}
    grid, counts = matrix(item, annotator, label), votes(item, label)
    found["krippendorff, from a matrix"] = timed(
        lambda: krippendorff.alpha(reliability_data=grid, level_of_measurement="nominal"), times
    )
    found["krippendorff, from counts"] = timed(
        lambda: krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"), times
    )
    for name, make in (("simpledorff", simpledorff), ("irrCAC", irrcac), ("nltk", nltk)):
        work = make(item[few], annotator[few], label[few])
        found[name] = timed(work, 1) | {"part": PART}
    print(json.dumps(found))


def matrix(item: Any, annotator: Any, label: Any) -> Any:
    """Annotators by items, nan where there is none."""
    grid = np.full((annotator.max() + 1, item.max() + 1), np.nan)
    grid[annotator, item] = label
    return grid


def votes(item: Any, label: Any) -> Any:
    """Items by classes."""
    k = label.max() + 1
    return np.bincount(item * k + label, minlength=(item.max() + 1) * k).reshape(-1, k)


def simpledorff(item: Any, annotator: Any, label: Any) -> Callable[[], float]:
    module: Any = importlib.import_module("simpledorff")
    pandas: Any = importlib.import_module("pandas")
    frame = pandas.DataFrame({"item": item, "annotator": annotator, "label": label})
    columns = {"experiment_col": "item", "annotator_col": "annotator", "class_col": "label"}
    return lambda: module.calculate_krippendorffs_alpha_for_df(frame, **columns)


def irrcac(item: Any, annotator: Any, label: Any) -> Callable[[], float]:
    module: Any = importlib.import_module("irrCAC.raw")
    pandas: Any = importlib.import_module("pandas")
    frame = pandas.DataFrame(matrix(item, annotator, label).T)
    return lambda: module.CAC(frame).krippendorff()["est"]["coefficient_value"]


def nltk(item: Any, annotator: Any, label: Any) -> Callable[[], float]:
    module: Any = importlib.import_module("nltk.metrics.agreement")
    rows = list(zip(annotator.tolist(), item.tolist(), label.tolist(), strict=True))
    return lambda: module.AnnotationTask(data=rows).alpha()


def timed(work: Callable[[], Any], times: int) -> dict[str, float]:
    """Best of some runs, and the value."""
    best, value = float("inf"), 0.0
    for _ in range(times):
        started = time.perf_counter()
        value = float(work())
        best = min(best, time.perf_counter() - started)
    return {"seconds": best, "value": value}


if __name__ == "__main__":
    main()
