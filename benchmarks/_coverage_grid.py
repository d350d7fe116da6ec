"""The designs that form the cells of the coverage matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from benchmarks._coverage_designs import CLASSES, CLUSTER_SIZES, Design
from benchmarks._coverage_panels import panel_cells

MIXED = tuple(range(2, 11))
DRAWN = ("partitioned", "targeted", "sequential")
Sizes = tuple[int, ...]
CLUSTERED: tuple[int | str, ...] = (5, 10, "zipf 1", "zipf 1.2", "one large")
PAIRS = ((0.8, 0.7), (0.95, 0.94))
MISLED = Design(kind="misled", protocol="targeted", accuracies=(0.2,))


def routed_grid() -> list[Design]:
    """Return designs with questions drawn for other models, with helpful or misleading votes."""
    later = [
        Design(protocol="targeted", accuracies=(0.9, 0.9, a), later=1, K=(K,), n=n)
        for K, (a, n) in product((4, 10), ((0.5, 100), (0.9, 100), (0.9, 20)))
    ]
    shared = [
        Design(protocol="targeted", accuracies=a, n=n)
        for a, n in (((0.97, 0.97), 100), ((0.5, 0.95, 0.9), 300))
    ]
    return [*later, *shared, MISLED]


def check_design(protocol: str, models: int, experts: int, K: int, n: int) -> Design:
    """Return a design in which every assumption of the checks holds."""
    accuracies = tuple(np.linspace(0.55, 0.85, models).round(2).tolist()) if models > 1 else (0.7,)
    return Design(
        kind="checks", protocol=protocol, accuracies=accuracies, experts=experts, K=(K,), n=n, uneven=0.5
    )


def check_grid(sizes: Sizes) -> list[Design]:
    """Return designs with few and many models, experts and options, and these numbers of items."""
    found = [check_design(*one) for one in product(DRAWN, (1, 20), (2, 20), (4, 10), sizes)]
    return found + [check_design("disagreement", 2, *one) for one in product((2, 20), (4, 10), sizes)]


def _accuracies(sizes: Sizes) -> list[Design]:
    values = (0.02, 0.2, 0.5, 0.8, 0.95, 0.99)
    grid = product(((2,), (4,), (10,), MIXED), values, sizes)
    plain = [Design(K=K, accuracies=(a,), n=n) for K, a, n in grid]
    targeted = product(values[::2], sizes[::2])
    return plain + [Design(protocol="targeted", accuracies=(a,), n=n) for a, n in targeted]


def _shared(sizes: Sizes) -> list[Design]:
    """Return designs with questions targeted at several models, and a model that is added later."""
    groups = ((0.98, 0.98), (0.9, 0.92, 0.94, 0.96, 0.98), (0.5, 0.3), (0.3, 0.9))
    routed = [
        Design(protocol="targeted", accuracies=a, K=K, n=n)
        for a, K, n in product(groups, ((4,), (10,), MIXED), sizes)
        if len(a) < 5 or K != MIXED
    ]
    later = [
        Design(protocol="targeted", accuracies=(0.9, 0.9, a), later=1, K=(10,), n=n)
        for a, n in product((0.05, 0.5, 0.9), sizes)
    ]
    return routed + later


def _troubles(sizes: Sizes) -> list[Design]:
    """Return designs with strata, unusable predictions, abstentions, slow experts, clusters or gold items."""
    found: list[Design] = []
    for n, a in product(sizes, (0.1, 0.6, 0.95)):
        some: list[dict[str, Any]] = [
            {"K": (10,), "strata": 14},
            {"K": MIXED, "strata": 5},
            {"K": (4,), "unreadable": 0.15},
            {"K": (2,), "unreadable": 0.15},
            {"K": MIXED, "unreadable": 0.15},
            {"K": (4,), "slow": 0.5},
            {"protocol": "targeted", "slow": 0.5},
            {"K": (4,), "abstained": 0.2, "failed": 0.1},
            {"protocol": "sequential", "abstained": 0.1, "failed": 0.05},
            {"protocol": "targeted", "accuracies": (a, 0.8), "unreadable": 0.1},
            {"K": (4,), "cluster": 5},
            {"K": MIXED, "cluster": 5},
            {"protocol": "targeted", "accuracies": (a, 0.8), "cluster": 5},
            {"protocol": "sequential", "accuracies": (a, 0.8), "cluster": 5},
            {"K": (4,), "asked": 2},
            {"K": MIXED, "asked": 2},
            {"K": (4,), "gold": 60},
            {"protocol": "targeted", "gold": 60},
        ]
        plain: dict[str, Any] = {"accuracies": (a,), "n": n}
        found += [Design(**(plain | changes)) for changes in some]
    return found


def _differences(sizes: Sizes) -> list[Design]:
    pairs = (((0.8, 0.75), 0.5), ((0.95, 0.94), 0.9), ((0.9, 0.5), 0.5), ((0.3, 0.2), 0.2))
    plain = [
        Design(kind="difference", protocol=p, accuracies=a, K=K, n=n, together=t)
        for p, (a, t), K, n in product((*DRAWN, "disagreement"), pairs, ((2,), (10,), MIXED), sizes)
    ]
    trouble = [
        Design(kind="difference", protocol=p, accuracies=(0.8, 0.7), n=150, cluster=c, unreadable=u)
        for p, (c, u) in product((*DRAWN, "disagreement"), ((5, 0.0), (0, 0.15)))
    ]
    return plain + trouble


def _unreadable(_: Sizes) -> list[Design]:
    """Return designs with two models whose answers are unreadable on different items.

    In all designs except the first, one model is good and the other useless.
    """
    two = Design(kind="difference", accuracies=(0.8, 0.7), K=(2,), n=200, unreadable=0.3)
    return [two] + [
        Design(kind="difference", protocol=p, accuracies=a, n=150, unreadable=0.15)
        for p in ("partitioned", "targeted", "disagreement")
        for a in ((0.99, 0.02), (0.99, 0.1))
    ]


def _joint(sizes: Sizes) -> list[Design]:
    groups = ((0.98, 0.95, 0.9, 0.85, 0.8), (0.5, 0.5, 0.5))
    return [
        Design(kind=kind, protocol=p, accuracies=a, K=K, n=n)
        for kind, p, a, K, n in product(("joint", "ranking"), DRAWN, groups, ((4,), (10,)), sizes)
    ]


def _assisted(sizes: Sizes) -> list[Design]:
    """Return designs assisted by other models' votes: good, bad, equally good or many; or with clusters."""
    groups = ((0.8, 0.7), (0.95, 0.97, 0.96), (0.7, *(0.05,) * 4), (0.1, 0.9, 0.9, 0.9), (0.6, *(0.6,) * 11))
    asked = (("partitioned", (4,)), ("partitioned", MIXED), ("targeted", (4,)))
    plain = [
        Design(kind="assisted", protocol=protocol, accuracies=group, K=K, n=n)
        for group, (protocol, K), n in product(groups, asked, sizes)
    ]
    return plain + [Design(kind="assisted", accuracies=(0.8, 0.7, 0.9), n=n, cluster=5) for n in sizes]


def _judged(sizes: Sizes) -> list[Design]:
    """Return designs with a judge that is informative, reversed, lying or constant, or with clusters."""
    asked = (("partitioned", (4,)), ("partitioned", MIXED), ("targeted", (4,)))
    judges = ("knows", "reversed", "lies", "constant")
    plain = [
        Design(kind="judged", protocol=protocol, accuracies=(a, 0.6), K=K, n=n, options={"judge": judge})
        for (protocol, K), a, n, judge in product(asked, (0.3, 0.8, 0.98), sizes, judges)
    ]
    return plain + [Design(kind="judged", n=n, cluster=5, options={"judge": "knows"}) for n in sizes]


def _classes(sizes: Sizes) -> list[Design]:
    """Return designs for results by class, with rare classes, several protocols, clusters or failures."""
    recall, results = f"recall[{CLASSES[0]}]", ("macro_precision", "macro_recall", "macro_f1", "cost")
    first = (f"precision[{CLASSES[0]}]", recall, f"f1[{CLASSES[0]}]")
    cells = list[tuple[str, dict[str, Any]]]()
    for K, a, rare in product((2, 4, 6), (0.3, 0.8, 0.97), (0.0, 0.05)):
        given = {"K": (K,), "accuracies": (a,), "rare": rare}
        cells += [(name, given) for name in (*first[1:], *results[2:])]
    for name in (*first, *results):
        cells += [
            (name, {"cluster": 5}),
            (name, {"cluster": 5, "accuracies": (0.95,), "rare": 0.1}),
            (name, {"strata": 3}),
            (name, {"abstained": 0.2, "unreadable": 0.1, "failed": 0.05}),
            (name, {"protocol": "targeted", "accuracies": (0.8, 0.7, 0.9), "later": 1}),
            (name, {"protocol": "sequential", "K": (2,)}),
            (name, {"accuracies": (0.8, 0.7)}),
            (name, {"accuracies": (0.95, 0.94), "together": 0.9}),
            (name, {"accuracies": (0.9, 0.5), "rare": 0.1, "K": (3,)}),
        ]
    return [
        Design(kind="class", n=n, options={"result": name}, **changes)
        for n, (name, changes) in product(sizes, cells)
    ]


def _anytime(sizes: Sizes) -> list[Design]:
    values = product(((2,), (4,), MIXED), (0.02, 0.5, 0.95), sizes)
    plain = [Design(kind="anytime", K=K, accuracies=(a,), n=n) for K, a, n in values]
    clustered = product((0.5, 0.95), sizes)
    return plain + [Design(kind="anytime", accuracies=(a,), n=n, cluster=5) for a, n in clustered]


def _pools(sizes: Sizes) -> list[Design]:
    """Return designs with items drawn from a pool, by kind of strata and number of target models."""
    groups = ((0.8, 0.7, 0.75), (0.97, 0.9, 0.95, 0.6), (0.1, 0.9, 0.9, 0.9), (0.5, *(0.05,) * 4))
    asked = (("targeted", 1), ("targeted", 3), ("sequential", 3), ("partitioned", 3))
    plain = [
        Design(kind="pool", protocol=p, accuracies=a, n=n, options={"targets": t, "strata": s})
        for (p, t), a, s, n in product(asked, groups, ("agreement", "reversed", "truth"), sizes)
    ]
    options = {"targets": 2, "strata": "agreement"}
    trouble: list[dict[str, Any]] = [
        {"unreadable": 0.15},
        {"abstained": 0.1, "failed": 0.05},
        {"slow": 0.5, "K": (4,)},
        {"K": MIXED},
        {"cluster": 5},
        {"together": 0.95},
    ]
    return plain + [
        Design(kind="pool", protocol=p, accuracies=(a, 0.8, 0.85), n=n, options=options, **changes)
        for p, a, n, changes in product(DRAWN, (0.6, 0.95), sizes, trouble)
        if not (p == "sequential" and "slow" in changes)
    ]


def _panels(sizes: Sizes) -> list[Design]:
    return [
        Design(kind=kind, protocol="panel", K=(classes,), accuracies=(a,), n=n, options={"annotators": m})
        for kind, classes, a, n, m in product(("certificate", "parity"), (2, 4), (0.6, 0.85), sizes, (3, 5))
    ]


def _winners(sizes: Sizes) -> list[Design]:
    """Return designs for winners of searches, with complementary labels or answers about a uniform option."""
    archives = ("one breakthrough", "all equal", "all bad", "at chance", "a spread", "two")
    plain = Design(kind="winner", protocol="search", K=(10,), accuracies=())
    return [
        replace(plain, n=n, options={"archive": archive, "labels": labels, "candidates": 30})
        for archive, labels, n in product(archives, ("complementary", "natural"), sizes)
    ]


def _clusters(_: Sizes) -> list[Design]:
    """Return designs with clusters of several sizes: accuracies by three protocols, differences by four."""
    accuracies = [
        Design(protocol=p, K=(K,), accuracies=(a,), correlation=r, cluster=sizes)
        for sizes, p, a, r, K in product(CLUSTERED, DRAWN, (0.6, 0.8, 0.98), (0.1, 0.6), (4, 10))
    ]
    differences = [
        Design(kind="difference", protocol=p, accuracies=pair, correlation=r, cluster=sizes)
        for sizes, p, pair, r in product(CLUSTERED, (*DRAWN, "disagreement"), PAIRS, (0.1, 0.6))
    ]
    too_few = [Design(protocol=p, cluster="too few") for p in DRAWN]
    found = accuracies + differences + too_few
    return [replace(x, n=sum(CLUSTER_SIZES[x.cluster])) if isinstance(x.cluster, str) else x for x in found]


def _large(sizes: Sizes) -> list[Design]:
    return [Design(accuracies=(a,), n=n, K=K) for n, a, K in product(sizes, (0.3, 0.98), ((4,), MIXED))]


FAMILIES: tuple[tuple[Callable[[Sizes], list[Design]], Sizes, Sizes, int], ...] = (
    (_accuracies, (20, 50, 100, 300), (20, 100), 2),
    (_shared, (20, 50, 100, 300), (20, 100), 1),
    (_troubles, (50, 150), (100,), 4),
    (_clusters, (), (), 53),
    (_differences, (30, 100, 300), (30,), 5),
    (_unreadable, (), (), 2),
    (_joint, (25, 100, 300), (25,), 3),
    (_assisted, (30, 100, 300), (60,), 5),
    (_judged, (30, 100, 300), (30,), 20),
    (_classes, (50, 200), (100,), 30),
    (_anytime, (40, 120, 300), (60,), 3),
    (_pools, (24, 100, 300), (60,), 35),
    (_panels, (100, 300, 1000), (200,), 2),
    (panel_cells, (5, 8, 10, 15, 20, 30, 50, 100), (8, 20, 50), 15),
    (_winners, (100, 200), (100,), 6),
    (_large, (1000,), (), 1),
)
"""Functions that return designs, each with its numbers of items, and for ``--quick`` with other numbers and
the step in which designs are taken. A quick run includes most designs in which earlier intervals failed."""


def make_grid(*, quick: bool) -> list[Design]:
    """Return the more than 1,000 designs of the full matrix, or more than 100, with some of every kind."""
    if quick:
        return [design for make, _, sizes, step in FAMILIES for design in make(sizes)[::step]]
    return [design for make, sizes, _, _ in FAMILIES for design in make(sizes)]
