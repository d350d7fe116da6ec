"""The task of `search_field` with real data: committees, cascades and routers of twenty models on MMLU-Pro.

The models' answers to 4,000 questions with ten options are published (TIGER-AI-Lab/MMLU-Pro, data MIT,
predictions Apache-2.0); only the experts and the edits are simulated. A method is a JSON text with a rule,
one to five models, and for a router the model that answers each category. An edit changes one model, the rule
or one route, so a child gives mostly the same answers as its parent. The accuracy of a method is its share of
right answers to the questions that the search does not label.
"""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
"""Defined here, because rivals also use this module, in environments without the project."""
DATA = Path(__file__).parent / "data" / "mmlu_pro_answers.csv.gz"
MOST = 5
RULES = ("vote", "cascade", "route")
FIRST = "Qwen1.5-72B-Chat"
"""Model with which a search starts; it is right on 45 % of the questions."""


@cache
def read_answers() -> tuple[tuple[str, ...], NDArray[np.str_], IntArray, IntArray]:
    """Return model names, subjects (N,), right options (N,), and the models' options (M, N).

    Options are indices from 0; −1 if an answer is unreadable.
    """
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    names, body = tuple(rows[0][2:]), np.array(rows[1:])
    options = np.array([[ord(x) - ord("A") if x else -1 for x in row] for row in body[:, 1:]], np.int64)
    return names, body[:, 0], options[:, 0], options[:, 1:].T


@dataclass
class RealTask:
    """Questions that a search labels, and all other questions, which give the true accuracy of methods.

    Attributes
    ----------
    n, seed
        Number of labelled questions, and seed of their draw.
    truth
        Right options of the labelled questions, shape (n,).
    """

    n: int
    seed: int
    K: int = 10
    truth: IntArray = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 8])
        order = rng.permutation(len(read_answers()[2]))
        self._rows, self._others = order[: self.n], order[self.n :]
        self.truth = read_answers()[2][self._rows]

    def answers(self, text: str, run: int = 0) -> IntArray:  # noqa: ARG002  published answers are one run
        """Return the option answered to every labelled question, shape (n,); −1 if unreadable."""
        return _answer(text)[self._rows]

    def accuracy(self, text: str) -> float:
        """Return a method's share of right answers to the questions that are not labelled."""
        return float((_answer(text) == read_answers()[2])[self._others].mean())

    def edit(self, text: str, rng: Any) -> str:
        """Return a method with one random change."""
        method = json.loads(text)
        models, names = method["models"], read_answers()[0]
        what = rng.choice(["swap", "add", "drop", "rule", "route"], p=[0.3, 0.3, 0.15, 0.1, 0.15])
        new = names[int(rng.integers(len(names)))]
        if what == "add" and len(models) < MOST:
            models.append(new)
        elif what == "drop" and len(models) > 1:
            models.pop(int(rng.integers(len(models))))
        elif what == "rule":
            method["rule"] = RULES[int(rng.integers(len(RULES)))]
        elif what == "route" and len(models) > 1:
            method["routes"][int(rng.integers(len(method["routes"])))] = int(rng.integers(len(models)))
        else:
            models[int(rng.integers(len(models)))] = new
        return json.dumps(method)


def first_method() -> str:
    """Return the method with which a search starts: a single model."""
    routes = [0] * len(np.unique(read_answers()[1]))
    return json.dumps({"rule": "vote", "models": [FIRST], "routes": routes})


@cache
def _answer(text: str) -> IntArray:
    """Return the option answered to every question, shape (N,)."""
    method = json.loads(text)
    names, subject, _, said = read_answers()
    own = said[[names.index(name) for name in method["models"]]]
    if method["rule"] == "route":
        category = np.unique(subject, return_inverse=True)[1]
        place = np.array(method["routes"])[category] % len(own)
        routed: IntArray = own[place, np.arange(own.shape[1])]
        return routed
    if method["rule"] == "cascade" and len(own) > 2:
        return np.where(own[0] == own[1], own[0], _vote(own[2:]))
    return _vote(own)


def _vote(said: IntArray) -> IntArray:
    """Return each question's most frequent option, with ties broken by the first model.

    The value is −1 if no answer to the question is readable.
    """
    counts = (said[:, :, None] == np.arange(10)).sum(axis=0)
    best = counts.max(axis=1)
    chosen: IntArray = np.full(said.shape[1], -1)
    for row in said[::-1]:
        leads = (row >= 0) & (counts[np.arange(len(row)), np.maximum(row, 0)] == best)
        chosen = np.where(leads, row, chosen)
    return chosen
