"""The same promise on real annotators' labels and on items with mixed numbers of options.

ChaosNLI: 3,113 sentence pairs, each labelled by 100 people; some model answers are missing. The
expert who is asked answers as one of the hundred, drawn at random, and consistently; a model's
known accuracy is then the mean share of annotators who agree with it. MIRAGE: four medical systems
on items with 2 to 4 options.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from oversight.harness import FloatArray, IntArray
from oversight.harness.estimate import accuracy, accuracy_target
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus
from tests.statistical.test_routing_real import covered, sequential_ends

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
SIZE, SEEDS = 300, 40


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path, use_threads=False).to_pylist()
    return rows


def chaosnli(folder: Path) -> tuple[FloatArray, IntArray, IntArray]:
    """Share of annotators per class, predictions, numbers of options."""
    rows = read(folder / "chaosnli_and_models.parquet")
    votes = np.array([[r["n_e"], r["n_n"], r["n_c"]] for r in rows], dtype=np.float64)
    models = [name for name in rows[0] if name.startswith(("roberta", "bert"))]
    predicted = np.array([["enc".find(r[m] or "?") for m in models] for r in rows])
    return votes / votes.sum(axis=1, keepdims=True), predicted, np.full(len(rows), 3)


def mirage(folder: Path) -> tuple[FloatArray, IntArray, IntArray]:
    rows = read(folder / "mirage_gpt_predictions.parquet")
    systems = ("gpt35_cot", "gpt4_cot", "gpt35_rag32", "gpt4_rag32")

    def option(letter: str | None, k: int) -> int:
        found = "ABCD".find(letter or "?")
        return found if found < k else -1

    options = np.array([r["n_options"] for r in rows])
    truth = np.zeros((len(rows), 4))
    truth[np.arange(len(rows)), [option(r["answer"], 4) for r in rows]] = 1.0
    return truth, np.array([[option(r[s], r["n_options"]) for s in systems] for r in rows]), options


def uniform_ends(truth: IntArray, predicted: IntArray, options: IntArray, seed: int) -> FloatArray:
    """ML with its default interval, from one uniformly drawn option per item."""
    asked = np.random.default_rng([seed, 2]).integers(options)
    labels = [
        Label(str(i), int(k), LabelKind.ORDINARY if k == y else LabelKind.COMPLEMENTARY, int(n), 1 / int(n))
        for i, (k, y, n) in enumerate(zip(asked, truth, options, strict=True))
    ]
    ends = []
    for column in predicted.T:
        predictions = [
            Prediction(str(i), int(p))
            if p >= 0
            else Prediction(str(i), None, PredictionStatus.UNREADABLE, "none")
            for i, p in enumerate(column)
        ]
        e = accuracy(predictions, labels)
        ends.append((e.low, e.high))
    return np.array(ends).T


@pytest.mark.parametrize("routing", ["uniform", "targeted", "sequential"])
@pytest.mark.parametrize("source", [chaosnli, mirage], ids=["chaosnli", "mirage"])
def test_known_accuracy_is_covered(source: Any, routing: str, datasets: Path) -> None:
    shares, predicted, options = source(datasets)
    rows = np.arange(len(shares))[:, None]
    known = np.where(predicted >= 0, shares[rows, np.maximum(predicted, 0)], 0.0).mean(axis=0)
    inside = []
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 1])
        chosen = rng.choice(len(shares), SIZE, replace=True)
        answers = (shares[chosen].cumsum(axis=1) > rng.random(SIZE)[:, None]).argmax(axis=1)
        p, k = predicted[chosen], options[chosen]
        if routing == "uniform":
            ends = uniform_ends(answers, p, k, seed)
        elif routing == "targeted":
            width = int(k.max())
            columns = [covered(accuracy_target(c, width), answers, c[:, None], k, seed) for c in p.T]
            ends = np.concatenate(columns, axis=1)
        else:
            ends = sequential_ends(answers, p, k)
        inside.append((ends[0] <= known) & (known <= ends[1]))
    rate = float(np.mean(inside))
    name = source.__name__
    sys.stdout.write(f"{name}, {routing}: {rate:.3f} of {SEEDS} label draws x {len(known)} models\n")
    assert rate >= 0.92  # Models share items, so the rate of 40 draws has a standard error of 2 to 3 points.
    assert np.mean(inside, axis=0).min() >= 0.8
