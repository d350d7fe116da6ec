"""The same draws of a pool by ppi_py: what judges' and votes' guesses save there, and whether it holds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks._peers import run_peers
from benchmarks._simulated_judges import FloatArray, IntArray, Pool, listen
from oversight.harness.estimate import guess_right

VERSION = "ppi-python==0.2.3"


def see_ppi(pool: Pool, guess_by: str, questions: int, draws: int) -> str:
    """One row: questions saved, share of draws in which the interval holds, and its mean width.

    Each draw is of so many items with equal chances, asked about one model's prediction, and gives ppi_py
    (PPI++, tuned) right or wrong of these and the guess that a judge, or the models' ``votes``, make of all.
    """
    names, rights, places, guesses, errors = list(pool.models), [], [], [], []
    predicted = np.stack(list(pool.models.values()), axis=1)
    votes = guess_right(predicted, pool.n_options) if guess_by == "votes" else None
    exact = [float((pool.models[name] == pool.truth).mean()) for name in names]
    for seed in range(draws):
        m, rng = seed % len(names), np.random.default_rng([12, seed])
        drawn = rng.choice(len(pool.items), questions, replace=False)
        rights.append((predicted[drawn, m] == pool.truth[drawn]).astype(np.float64))
        guesses.append(_hear(pool, guess_by, predicted[:, m], seed) if votes is None else votes[:, m])
        places.append(drawn)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draws.npz"
        np.savez(path, right=np.stack(rights), drawn=np.stack(places), guess=np.stack(guesses))
        made = run_peers("_ppi_peers.py", [VERSION], path)
    if not made:
        return f"{'ppi_py':<9} {guess_by:<9} not measured"
    value, low, high = np.array(made["found"]).T
    truth = np.array([exact[seed % len(names)] for seed in range(draws)])
    errors = np.square(value - truth) / (truth * (1 - truth) / questions)
    held = np.mean((low <= truth) & (truth <= high))
    shares = f"{1 / errors.mean():>6.2f} {held:>6.1%} {(high - low).mean():>6.3f}"
    return f"{'ppi_py':<9} {guess_by:<9} {'':>5} {shares}"


def _hear(pool: Pool, kind: str, predicted: IntArray, seed: int) -> FloatArray:
    """How likely a judge says the prediction is right, of every item."""
    option, sure = listen(pool, kind, seed)
    said: FloatArray = np.where(option == predicted, sure, (1 - sure) / (pool.n_options - 1))
    return np.where(predicted >= 0, said, 0.0)
