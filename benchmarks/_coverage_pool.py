"""Check intervals for a whole pool of items, from a stratified sample with proportional allocation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import oversight as ov
from benchmarks._coverage_designs import Design, collect, world
from oversight.harness import EstimateError, FloatArray
from oversight.harness.estimate import draw_in_proportion, guess_right, split_by_agreement
from oversight.harness.types import Estimate, PredictionStatus

TIMES = 6
"""Size of the pool as a multiple of the sample size."""


def draw_from_pool(design: Design, rng: np.random.Generator) -> list[tuple[float, Estimate | None]]:
    """Draw a pool and a sample. Returns pairs of the first model's true accuracy and an estimate.

    There are two estimates: the protocol's, and one assisted by all votes. A withheld estimate is None. The
    design's option ``targets`` is the number of models for which questions are drawn. The option ``strata``
    says how items are stratified: by the models' agreement (``agreement``, or ``reversed`` for the reverse
    order), at random (``noise``), or by whether the first model is right (``truth``).
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
        made = ov.model_accuracies(known, labels)["m0"]
    except EstimateError:
        return [(value, None)]
    return [(value, made[name]) for name in names if name in made] or [(value, None)]
