"""Means of right or wrong by ppi_py (PPI++), from draws saved by `_against_ppi.py`; printed as JSON."""

from __future__ import annotations

import json
import sys

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate  # type: ignore[import-not-found]


def main() -> None:
    data = np.load(sys.argv[1])
    found = []
    for right, drawn, guess in zip(data["right"], data["drawn"], data["guess"], strict=True):
        rest = np.setdiff1d(np.arange(len(guess)), drawn)
        given = (right, guess[drawn], guess[rest])
        (low,), (high,) = ppi_mean_ci(*given, alpha=0.05)
        found.append([float(np.ravel(ppi_mean_pointestimate(*given))[0]), float(low), float(high)])
    print(json.dumps({"found": found}))


if __name__ == "__main__":
    main()
