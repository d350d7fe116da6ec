"""Compare three ways to analyse one model's accuracy early, on the same studies.

Prints the share of studies in which each decides that the model is above a bar ten points below its
accuracy, at one-sided error 0.05, and how much wider anytime intervals are than those of one analysis of
fixed size.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from oversight import harness as h
from oversight.harness.estimate import gate_accuracy
from oversight.harness.types import Item, Labels, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, Targeted, one_expert_per_class

DESIGNS = ((4, 400, 0.8, False), (10, 800, 0.8, False), (4, 200, 0.85, True), (2, 300, 0.8, False))
"""Options, items, accuracy, and whether questions are targeted at the model's predictions."""
BELOW = 0.1


def draw(seed: int, K: int, n: int, accuracy: float, *, targeted: bool) -> tuple[list[Prediction], Labels]:
    """One study: the model's predictions, and the experts' answers."""
    rng, ids = np.random.default_rng(seed), [f"i{j}" for j in range(n)]
    classes = tuple(f"class {k}" for k in range(K))
    roster, items = one_expert_per_class(classes), [Item(i, "t", classes, tuple(range(K))) for i in ids]
    truth = rng.integers(K, size=n)
    right = rng.random(n) < accuracy
    said = dict(
        zip(ids, np.where(right, truth, (truth + rng.integers(1, K, size=n)) % K).tolist(), strict=True)
    )
    plan = Targeted(roster, {"m": said}, seed) if targeted else Partitioned(roster, seed)
    experts = SimulatedExperts(dict(zip(ids, truth.tolist(), strict=True)))
    labels = plan.decode(list(experts.answer(plan.route(items))))
    return [Prediction(i, k) for i, k in said.items()], labels


def compare_looks(studies: int, K: int, n: int, accuracy: float, *, targeted: bool) -> dict[str, float]:
    """Shares of studies that decide, and the mean ratio of widths."""
    bar, rows = accuracy - BELOW, []
    for seed in range(studies):
        predictions, labels = draw(seed, K, n, accuracy, targeted=targeted)
        gate = gate_accuracy(predictions, labels, bar)
        watched, fixed = (h.accuracy(predictions, labels, interval=i, level=0.9) for i in ("anytime", None))
        wide, narrow = (h.accuracy(predictions, labels, interval=i) for i in ("anytime", None))
        ratio = (wide.high - wide.low) / (narrow.high - narrow.low)
        rows.append((gate.verdict == "pass", watched.low >= bar, fixed.low >= bar, ratio))
    names = ("gate", "any time", "one look", "width ratio")
    return dict(zip(names, np.mean(rows, axis=0).round(2).tolist(), strict=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 studies per design instead of 100")
    number = 20 if parser.parse_args().quick else 100
    for K, n, accuracy, targeted in DESIGNS:
        found = compare_looks(number, K, n, accuracy, targeted=targeted)
        design = {"K": K, "items": n, "accuracy": accuracy, "targeted": targeted, "studies": number}
        print(json.dumps(design | found))
