"""Estimate means by ppi-python, glide-py or cje-eval on saved draws, in separate environments (see `_peers`).

For every draw, the input file contains which items are labelled, whether the model is right on these items,
and for all items the judge's probability that the model is right. The last line of the output is JSON with
the estimate and the ends of its interval for every draw, or the reason why there is no estimate.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import numpy as np


def by_ppi(right: Any, score: Any, drawn: Any) -> tuple[float, float, float]:
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    rest = np.setdiff1d(np.arange(len(score)), drawn)
    parts = (right, score[drawn], score[rest])
    ends = ppi_mean_ci(*parts, alpha=0.05)
    value, low, high = (float(np.ravel(x)[0]) for x in (ppi_mean_pointestimate(*parts), *ends))
    return value, low, high


def by_glide(right: Any, score: Any, drawn: Any) -> tuple[float, float, float]:
    from glide.estimators import PPIMeanEstimator

    known = np.full(len(score), np.nan)
    known[drawn] = right
    found = PPIMeanEstimator().estimate(known, score).confidence_interval
    return float(found.mean), float(found.lower_bound), float(found.upper_bound)


def by_cje(right: Any, score: Any, drawn: Any) -> tuple[float, float, float]:
    from cje import calibrated_mean_ci

    known = np.full(len(score), np.nan)
    known[drawn] = right
    found = calibrated_mean_ci(score, known)
    return float(found.estimate), float(found.ci[0]), float(found.ci[1])


def main() -> None:
    rival, file = sys.argv[1:]
    logging.disable(logging.WARNING)
    call = {"ppi": by_ppi, "glide": by_glide, "cje": by_cje}[rival]
    saved = np.load(file)
    rows: list[Any] = []
    for right, score, drawn in zip(saved["right"], saved["score"], saved["drawn"], strict=True):
        try:
            row = call(right.astype(float), score.astype(float), drawn)
            rows.append(row if np.isfinite(row).all() else "no finite interval")
        except Exception as error:  # noqa: BLE001  a rival's refusal of a draw is reported
            rows.append(f"{type(error).__name__}: {error}"[:200])
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
