"""Check the interval for a whole pool from items drawn in proportion within strata."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks._coverage_designs import Design, collect, world
from oversight import harness as h
from oversight.harness import EstimateError, FloatArray
from oversight.harness.estimate import draw_in_proportion, guess_right, split_by_agreement
from oversight.harness.types import Estimate, PredictionStatus

TIMES = 6
"""Items of the pool, over those drawn."""


def draw_from_pool(design: Design, rng: np.random.Generator) -> list[tuple[float, Estimate | None]]:
    """Accuracy on the pool, and the estimates of the first model: the protocol's own, and with all votes.

    The first of the design's `options` is the number of ``targets``. The other models are side information
    that defines the ``strata`` of the draw: by ``agreement``, the same ``reversed``, by ``noise``, or by
    the ``truth`` of the first model.
    """
    items, models, truth = world(replace(design, n=TIMES * design.n), rng)
    rows = [[-1 if p.option is None else p.option for p in each] for each in models.values()]
    predicted = np.array(rows, np.int64).T
    right = predicted[:, 0] == [truth[item.id] for item in items]
    ran = np.array([p.status is not PredictionStatus.FAILED for p in models["m0"]])
    targets = list(models)[: design.options["targets"]]
    n_options = np.array([len(item.options) for item in items], np.int64)
    guesses = guess_right(predicted, n_options)[:, : len(targets)]
    score: dict[str, FloatArray] = {
        "agreement": guesses,
        "reversed": -guesses,
        "noise": rng.random(guesses.shape),
        "truth": right[:, None] + 0.5 * rng.random((len(items), 1)),
    }
    stratum = split_by_agreement(score[design.options["strata"]], design.n)
    places = draw_in_proportion(stratum, design.n, rng)
    chosen = [items[j] for j in places.tolist()]
    drawn = {item.id: str(s) for item, s in zip(chosen, stratum[places].tolist(), strict=True)}
    labels = collect(design, chosen, {name: models[name] for name in targets}, truth, rng)
    labels = labels.drawn_from(drawn, pool_size=len(items))
    shown = models if design.protocol == "partitioned" else targets
    known = {name: [models[name][j] for j in places.tolist()] for name in shown}
    value, names = float(right[ran].mean()), ("ml", "routed", "resolved", "assisted")
    try:
        made = h.model_accuracies(known, labels)["m0"]
    except EstimateError:
        return [(value, None)]
    return [(value, made[name]) for name in names if name in made] or [(value, None)]
