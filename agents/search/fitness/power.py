"""Power of a search before it starts: the smallest detectable difference, and how to detect smaller ones.

Two programs of accuracy .6 are simulated, with errors like those of language models
(`oversight.harness.estimate.sample_size`). The simulated items get the same kind and number of labels as the
current items, and the programs are scored as in the search. The power follows from the standard deviation of
the per-item difference between their scores.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

import numpy as np

from oversight.agents.search.fitness.empirical_bayes import items_for, minimum_detectable
from oversight.agents.search.fitness.expert_labels import ExpertLabels
from oversight.agents.search.fitness.scores import score_items
from oversight.harness import FloatArray, IntArray
from oversight.harness.estimate import draw_options, effective_clusters, synthesise_population

SIMULATED = 8000
GUESS = 0.6

Kind = Literal["complementary", "natural", "routed", "ordinary"]
NAMES: dict[Kind, str] = {
    "complementary": "no-answers alone",
    "natural": "yes/no answers about a random option",
    "routed": "yes/no answers about options the programs choose",
    "ordinary": "checked answers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Power of the labels to tell which of two programs is more accurate.

    All differences are differences of accuracy, from 0 to 1.

    Attributes
    ----------
    n
        Number of selection items that experts have answered.
    units
        Effective number of clusters (`effective_clusters`); n if items are independent. A cluster counts as
        one item, because correlations within clusters are unknown before programs have answered the items.
    answers
        Number of experts' answers about the n items.
    K
        Text with the items' numbers of options: ``"4/5"`` if some items have 4 options and the others 5.
    kind
        Kind of the labels.
    detectable
        Smallest difference that is detected with probability 80 %.
    alternatives
        Name of another label kind → smallest detectable difference with the same number of items.
    needed
        Difference → number of items, with labels of the current kind, needed to detect it.
    """

    n: int
    units: float
    answers: int
    K: str
    kind: Kind
    detectable: float
    alternatives: dict[str, float]
    needed: dict[float, int]

    def lines(self) -> list[str]:
        """Return messages that describe the power to the user."""
        more = ", ".join(f"{n:,} for {100 * d:.0f} points" for d, n in self.needed.items())
        items = "select items" if self.answers == self.n else f"{self.n} select items"
        clusters = "" if self.units == self.n else f", in clusters that count as {self.units:.0f} items"
        other = "; ".join(f"{100 * d:.0f} points with {name}" for name, d in self.alternatives.items())
        return [
            f"with {self.answers} questions about {items} at K = {self.K} ({NAMES[self.kind]}{clusters}) you "
            f"cannot see differences under {100 * self.detectable:.0f} points between two workflows",
            f"select items of this kind needed: {more}",
            f"with as many items, and one question of another kind per item: {other}",
        ]


def measure_power(labelled: ExpertLabels) -> Power:
    """Measure how well the selection items' labels can tell which of two programs is better."""
    answered = labelled.answered
    options = Counter(labelled.n_options[answered].tolist())
    n = options.total()
    yes = labelled.truth >= 0
    kind: Kind = "natural" if yes.any() else "complementary"
    if labelled.routed.any():
        kind = "routed"
    elif yes[answered].all():
        kind = "ordinary"
    answers = int((labelled.refused.sum(axis=1) + yes)[answered].sum())
    spreads = {k: _per_item_sd(options, k, max(1, round(answers / n)) if k == kind else 1) for k in NAMES}
    units = effective_clusters(np.unique(labelled.cluster[answered], return_inverse=True)[1])
    return Power(
        n=n,
        units=units,
        answers=answers,
        K="/".join(str(k) for k in sorted(options)),
        kind=kind,
        detectable=minimum_detectable(spreads[kind] / np.sqrt(units)),
        alternatives={
            NAMES[k]: minimum_detectable(sd / np.sqrt(units)) for k, sd in spreads.items() if k != kind
        },
        needed={d: ceil(items_for(spreads[kind], d) * n / units) for d in (0.1, 0.05)},
    )


def _per_item_sd(options: Counter[int], kind: Kind, m: int) -> float:
    """Return the standard deviation of the difference of two programs' scores on one item.

    Every simulated item has labels for `m` of its options.
    """
    gaps = []
    for K, count in options.items():
        n = max(200, round(SIMULATED * count / options.total()))
        rng = np.random.default_rng([K, n])
        truth, predicted = synthesise_population(n, K, [GUESS, GUESS], rng)
        labelled = simulated_labels(truth, predicted.T, K, kind, rng)
        if m > 1 and kind in ("natural", "complementary"):
            labelled = _several(labelled, truth, min(m, K - 1), rng)
        first, second = score_items(predicted.T, labelled)
        gaps.append(first - second)
    return float(np.concatenate(gaps).std())


def _several(labelled: ExpertLabels, truth: IntArray, m: int, rng: np.random.Generator) -> ExpertLabels:
    """Return labels of `m` uniformly drawn, different options per item."""
    n, K = labelled.refused.shape
    order = rng.permuted(np.tile(np.arange(K), (n, 1)), axis=1)
    # With complementary labels, experts are never asked about the true option.
    if (labelled.truth < 0).all():
        order = order[order != truth[:, None]].reshape(n, K - 1)
    asked = np.zeros((n, K), np.bool_)
    asked[np.arange(n)[:, None], order[:, :m]] = True
    true = np.arange(K) == truth[:, None]
    known = np.where((asked & true).any(axis=1), truth, -1)
    return replace(labelled, truth=known, refused=asked & ~true)


def simulated_labels(
    truth: IntArray, votes: IntArray, K: int, kind: Kind, rng: np.random.Generator
) -> ExpertLabels:
    """Simulate one error-free expert answer per item.

    Parameters
    ----------
    truth, votes
        True options, shape (n,), and options chosen by M programs, shape (M, n).
    K
        Number of options of every item.
    kind
        How the option in the question is drawn. ``complementary``: uniformly among the wrong options, so that
        the answer is no; ``natural``: uniformly among all options; ``routed``: each option with probability
        .2/K plus .8 times its share of the votes; ``ordinary``: always the true option.
    """
    n = len(truth)
    pi: FloatArray = np.zeros((n, K))
    if kind == "complementary":
        asked = (truth + 1 + rng.integers(K - 1, size=n)) % K
    elif kind == "routed":
        pi = 0.8 * np.stack([(votes == k).mean(axis=0) for k in range(K)], axis=1) + 0.2 / K
        asked = draw_options(pi, rng)
    else:
        asked = truth if kind == "ordinary" else rng.integers(K, size=n)
    yes = asked == truth
    refused = np.zeros((n, K), np.bool_)
    refused[np.flatnonzero(~yes), asked[~yes]] = True
    known = np.where(yes, truth, -1)
    ids = tuple(str(i) for i in range(n))
    return ExpertLabels(ids, np.full(n, K), known, refused, pi, np.full(n, kind == "routed"), np.arange(n))
