"""Crowd-Kit's Dawid-Skene on one panel; run by dawid_skene.py, elsewhere.

python _crowdkit_peer.py PANEL.npz STEPS
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

import numpy as np


def main() -> None:
    panel, steps = np.load(sys.argv[1]), int(sys.argv[2])
    pandas: Any = importlib.import_module("pandas")
    crowdkit: Any = importlib.import_module("crowdkit.aggregation")
    names = {"task": "item", "worker": "annotator", "label": "label"}
    frame = pandas.DataFrame({ours: panel[theirs] for ours, theirs in names.items()})
    started = time.perf_counter()
    fitted = crowdkit.DawidSkene(n_iter=steps, tol=-np.inf).fit(frame)
    seconds = time.perf_counter() - started
    posterior = fitted.probas_.sort_index().sort_index(axis=1)
    print(json.dumps({"seconds": seconds, "posterior": posterior.to_numpy().tolist()}))


if __name__ == "__main__":
    main()
