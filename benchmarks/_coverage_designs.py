"""Designs of simulated studies, and draws of items, predictions, questions and answers from a design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri

import oversight as ov
from benchmarks._simulation import ask_experts, make_rule
from oversight.harness import IntArray
from oversight.harness.estimate import GoldCounts
from oversight.harness.types import Item, Label, Labels, Prediction, PredictionStatus, Question
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Expert, Roster, one_expert_per_class

CLASSES = tuple(f"class {k}" for k in range(16))
ROSTER = one_expert_per_class(CLASSES)
SENSITIVITY, SPECIFICITY = 0.9, 0.95
CLUSTER_SIZES = {
    "zipf 1": tuple(max(1, round(40 / k)) for k in range(1, 41)),
    "zipf 1.2": tuple(max(1, round(60 / k**1.2)) for k in range(1, 31)),
    "one large": (50, *(1,) * 100),
    "too few": (100, *(1,) * 30),
}
"""Sizes of all clusters, by name; the effective numbers of clusters are 11, 6.8, 8.7 and 1.7."""
LEVEL = 0.95
MISSED = 20.0
"""Cost of missing an item of the first class; any other error costs 1."""
_MANY = 400_000


@dataclass(frozen=True, kw_only=True)
class Design:
    """The design of a simulated study, which is one cell of the coverage matrix.

    Attributes
    ----------
    kind
        Kind of interval: a key of `KINDS` or `APART` in `_coverage_kinds`.
    protocol
        Name of the routing protocol.
    K
        Numbers of options; items have these numbers in turn.
    accuracies
        True accuracies of the models.
    n
        Number of items.
    later
        Number of models, counted from the last one, whose predictions are not used to draw the questions.
    together
        Correlation between models of the latent normal variables that decide whether a model is right.
    unreadable, failed, abstained
        Shares of unreadable and failed predictions and of abstentions, all independent of the truth.
    strata
        Number of strata; accuracies differ between them. 0 for none.
    slow
        Share of their questions that half of the experts have answered. The other half have answered all
        questions.
    cluster
        Number of items per cluster, or a name of `CLUSTER_SIZES`; 0 for independent items.
    correlation
        Correlation of the latent normal variables of the items in a cluster.
    asked
        Number of questions per item (protocol ``"partitioned"``).
    gold
        Number of gold items of each kind. If above 0, experts make errors: they say yes to 5 % of wrong
        options and no to 10 % of right options.
    rare
        Share of items whose true option is the first one; 0 means equal frequencies.
    uneven
        Standard deviation of the logits of the classes' frequencies and difficulties; 0 means equal classes.
    experts
        Number of experts; 0 means one per class. With fewer experts than classes, an expert judges several
        classes; with more, several experts share a class.
    options
        Arguments for the public call that is checked.
    """

    kind: str = "accuracy"
    protocol: str = "partitioned"
    K: tuple[int, ...] = (4,)
    accuracies: tuple[float, ...] = (0.8,)
    n: int = 100
    later: int = 0
    together: float = 0.5
    unreadable: float = 0.0
    failed: float = 0.0
    abstained: float = 0.0
    strata: int = 0
    slow: float = 1.0
    cluster: int | str = 0
    correlation: float = 0.45
    asked: int = 1
    gold: int = 0
    rare: float = 0.0
    uneven: float = 0.0
    experts: int = 0
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """Return the kind, the main attributes, and all attributes that differ from the defaults."""
        plain = ("kind", "protocol", "K", "accuracies", "n", "options")
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in plain}
        shown = {f.name: given[f.name] for f in fields(self) if given.get(f.name, f.default) != f.default}
        K = f"K={min(self.K)}–{max(self.K)}" if len(set(self.K)) > 1 else f"K={self.K[0]}"
        rest = ", ".join(f"{name} {value}" for name, value in (shown | self.options).items())
        values = "/".join(f"{a:g}" for a in self.accuracies)
        return f"{self.kind}: {self.protocol}, {K}, A={values}, n={self.n}" + (f", {rest}" if rest else "")


def falls_short(share: float, draws: int, level: float = LEVEL) -> bool:
    """Return whether a share is significantly below a level, by more than 2.6 standard errors."""
    return draws > 0 and share < level - 2.6 * math.sqrt(level * (1 - level) / draws)


def clusters_of(design: Design) -> IntArray:
    """Return the number of each item's cluster, shape (n,)."""
    if isinstance(design.cluster, int):
        return np.arange(design.n) // max(1, design.cluster)
    sizes = CLUSTER_SIZES[design.cluster]
    return np.repeat(np.arange(len(sizes)), sizes)


@dataclass(frozen=True)
class Drawn:
    """One drawn study.

    Attributes
    ----------
    labels
        Labels from the experts' answers.
    models
        Predictions by model name.
    truth, strata
        True option of each item, and stratum of each item, by item id. A design without strata has None.
    gold
        Counts of the experts' answers on gold items; None without gold items.
    """

    labels: Sequence[Label]
    models: dict[str, list[Prediction]]
    truth: dict[str, int]
    strata: dict[str, str] | None
    gold: GoldCounts | None = None


@cache
def item_of(number: int, K: int) -> Item:
    """Return the item with this number and K options."""
    return Item(f"{number}-{K}", "?", CLASSES[:K], tuple(range(K)))


def world(
    design: Design, rng: np.random.Generator
) -> tuple[list[Item], dict[str, list[Prediction]], dict[str, int], IntArray]:
    """Draw items, predictions by model name, true options by item id, and strata, shape (n,)."""
    n = design.n
    K = np.array([design.K[j % len(design.K)] for j in range(n)])
    items = [item_of(j, int(k)) for j, k in enumerate(K)]
    y = _draw_truth(design, K, rng)
    stratum = rng.integers(0, design.strata, n) if design.strata else np.zeros(n, np.int64)
    options = _predict(design, K, y, stratum, rng)
    truth = {item.id: int(t) for item, t in zip(items, y, strict=True)}
    models = {f"m{j}": _predictions(design, items, column, rng) for j, column in enumerate(options)}
    return items, models, truth, stratum


def _draw_truth(design: Design, K: IntArray, rng: np.random.Generator) -> IntArray:
    if design.uneven:
        weight = np.exp(design.uneven * rng.standard_normal(design.K[0]))
        return rng.choice(design.K[0], len(K), p=weight / weight.sum())
    y = (rng.random(len(K)) * K).astype(np.int64)
    if not design.rare:
        return y
    others = 1 + (rng.random(len(K)) * (K - 1)).astype(np.int64)
    return np.where(rng.random(len(K)) < design.rare, 0, others)


def draw(design: Design, rng: np.random.Generator) -> Drawn:
    """Draw a study with its labels."""
    items, models, truth, stratum = world(design, rng)
    labels = collect(design, items, models, truth, rng)
    names = {item.id: f"s{s}" for item, s in zip(items, stratum, strict=True)} if design.strata else None
    gold = None
    if m := design.gold:
        yes, no = (int(rng.binomial(m, rate)) for rate in (SENSITIVITY, SPECIFICITY))
        gold = GoldCounts(yes_on_true=yes, n_true=m, no_on_false=no, n_false=m)
    return Drawn(labels, models, truth, names, gold)


def _predict(
    design: Design, K: IntArray, y: IntArray, stratum: IntArray, rng: np.random.Generator
) -> list[IntArray]:
    """Draw the options that each model chooses, one array of shape (n,) per model.

    Latent normal variables, correlated between models or within clusters, decide which choices are right.
    """
    n = len(y)
    shared = rng.normal(size=n) * np.sqrt(design.together)
    if design.cluster:
        of = clusters_of(design)
        shared = rng.normal(size=of[-1] + 1)[of] * np.sqrt(design.correlation)
    own = design.correlation if design.cluster else design.together
    distractor = (y + 1 + (rng.random(n) * (K - 1)).astype(np.int64)) % K
    ease = design.uneven * rng.standard_normal(max(design.K))[y] if design.uneven else 0.0
    found = []
    for a in design.accuracies:
        if design.strata:
            spread = np.linspace(-1, 1, design.strata) * min(a, 1 - a) * 0.6
            right = rng.random(n) < a + spread[stratum]
        else:
            limit = ndtri(expit(logit(a) + ease)) if design.uneven else ndtri(a)
            right = shared + rng.normal(size=n) * np.sqrt(1 - own) < limit
        wrong = (y + 1 + (rng.random(n) * (K - 1)).astype(np.int64)) % K
        wrong = np.where(rng.random(n) < 0.4, distractor, wrong)
        found.append(np.where(right, y, wrong))
    return found


def _predictions(
    design: Design, items: Sequence[Item], options: IntArray, rng: np.random.Generator
) -> list[Prediction]:
    u = rng.random(len(items))
    rows = []
    for item, option, chance in zip(items, options.tolist(), u.tolist(), strict=True):
        if chance < design.unreadable:
            rows.append(Prediction(item.id, None, PredictionStatus.UNREADABLE))
        elif chance < design.unreadable + design.failed:
            rows.append(Prediction(item.id, None, PredictionStatus.FAILED, reason="rate limit"))
        else:
            rows.append(Prediction(item.id, option))
    return rows


@lru_cache(maxsize=256)
def true_result(design: Design, model: int = 0) -> dict[str, float]:
    """Return one model's true per-class results: those of the first class, the macro means, and the cost.

    The results are simulated with `_MANY` items.
    """
    design = replace(design, n=_MANY, cluster=0)
    rng = np.random.default_rng(0)
    options = np.full(design.n, design.K[0])
    y = _draw_truth(design, options, rng)
    stratum = rng.integers(0, max(1, design.strata), design.n)
    predicted = _predict(design, options, y, stratum, rng)[model]
    lost = design.unreadable / (1 - design.failed)
    predicted = np.where(rng.random(design.n) < lost, -1, predicted)
    K = design.K[0]
    both = np.array([np.mean((predicted == k) & (y == k)) for k in range(K)])
    of, said = (np.bincount(x[x >= 0], minlength=K) / design.n for x in (y, predicted))
    found = {"precision": both / said, "recall": both / of, "f1": 2 * both / (said + of)}
    wrong = predicted != y
    return {
        **{f"{name}[{CLASSES[0]}]": float(each[0]) for name, each in found.items()},
        **{f"macro_{name}": float(each.mean()) for name, each in found.items()},
        "cost": float(np.mean(wrong * np.where(y == 0, MISSED, 1.0))),
    }


def collect(
    design: Design,
    items: list[Item],
    models: dict[str, list[Prediction]],
    truth: dict[str, int],
    rng: np.random.Generator,
) -> Labels:
    """Draw questions by the design's protocol, and let simulated experts answer them.

    Experts abstain, answer only a part, and make errors as the design says.
    """
    routed = list(models)[: len(models) - design.later]
    votes = {name: {p.item_id: p.option for p in models[name]} for name in routed}
    seed = int(rng.integers(1 << 31))
    rule = make_rule(design.protocol, roster_of(design), votes, seed, design.asked)
    s, t = (SENSITIVITY, SPECIFICITY) if design.gold else (1.0, 1.0)
    experts = SimulatedExperts(truth, s, t, abstention=design.abstained, seed=seed)
    answers, drawn = ask_experts(rule, items, experts)
    if design.slow < 1:
        reached = _reach(drawn, design.slow)
        answers = [a for a in answers if a.question.id in reached]
    labels = ov.decode(answers, drawn)
    if design.cluster:
        of = clusters_of(design)
        labels = labels.clustered({item.id: str(of[j]) for j, item in enumerate(items)})
    return labels


def roster_of(design: Design) -> Roster:
    """Return the experts of a design."""
    E, K = design.experts, design.K[0]
    judged = [tuple(c for k, c in enumerate(CLASSES[:K]) if k % E == e % K) for e in range(E)]
    return Roster(tuple(Expert(f"expert {e}", own) for e, own in enumerate(judged))) if E else ROSTER


def _reach(drawn: Sequence[Question], share: float) -> set[str]:
    """Return the ids of answered questions.

    Half of the experts answer all their questions, the other half only the first `share` of their queues.
    """
    found = set[str]()
    for j, expert in enumerate(sorted({q.expert for q in drawn})):
        queue = sorted((q for q in drawn if q.expert == expert), key=lambda q: q.place or 0)
        found |= {q.id for q in queue[: len(queue) if j % 2 == 0 else max(1, round(share * len(queue)))]}
    return found


def true_accuracies(design: Design) -> list[float]:
    """Return each model's true accuracy: unreadable predictions count as wrong, failed ones are left out."""
    readable = 1 - design.unreadable / (1 - design.failed)
    return [a * readable for a in design.accuracies]
