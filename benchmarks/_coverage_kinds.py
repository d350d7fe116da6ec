"""Check whether the interval of a public call covers the true value in one draw; one function per kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import oversight as ov
from benchmarks._coverage_designs import CLASSES, MISSED, Design, Drawn, draw, true_accuracies, true_result
from benchmarks._coverage_panels import draw_panel_score
from benchmarks._coverage_pool import draw_from_pool
from benchmarks._coverage_winner import draw_winner
from oversight.harness import EstimateError
from oversight.harness.panel import assess_superhuman, measure_parity
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.types import Labels, Prediction, design_of


@dataclass(frozen=True)
class Outcome:
    """Whether an interval covers the true value (None: it was withheld), its `holds`, and its width."""

    covered: bool | None
    holds: bool = True
    width: float = float("nan")


WITHHELD = Outcome(None)
NEAR = 1e-9


def compare_ends(truth: float, found: Any) -> Outcome:
    """Compare the ends of an interval with the true value."""
    inside = found.low - NEAR <= truth <= found.high + NEAR
    return Outcome(bool(inside), found.holds, found.high - found.low)


def cover_accuracy(design: Design, drawn: Drawn) -> list[Outcome]:
    """Check `accuracy` for one model: the last model if it was added later, else the first."""
    found, options = [], dict(design.options)
    if drawn.gold is not None:
        options["gold"] = drawn.gold
    for truth, predictions in zip(true_accuracies(design), drawn.models.values(), strict=True):
        try:
            estimate = ov.accuracy(predictions, drawn.labels, strata=drawn.strata, **options)
        except EstimateError:
            found.append(WITHHELD)
            continue
        found.append(compare_ends(truth, estimate))
    return found[-1:] if design.later else found[:1]


def cover_difference(design: Design, drawn: Drawn) -> list[Outcome]:
    """Check the difference of the first two models by `oversight.compare`."""
    a, b = true_accuracies(design)[:2]
    models = dict(list(drawn.models.items())[:2])
    try:
        (pair,) = ov.compare(models, drawn.labels, **design.options).pairs
    except EstimateError:
        return [WITHHELD]
    return [compare_ends(a - b, pair)]


def cover_joint(design: Design, drawn: Drawn) -> list[Outcome]:
    """Check whether the intervals of `model_accuracies(joint=True)` cover all models' accuracies at once."""
    found = ov.model_accuracies(drawn.models, drawn.labels, joint=True)
    outcomes = []
    for truth, made in zip(true_accuracies(design), found.values(), strict=True):
        main = next((made[name] for name in ("ml", "routed", "resolved") if name in made), None)
        outcomes.append(WITHHELD if main is None else compare_ends(truth, main))
    return _all_of(outcomes)


def cover_assisted(design: Design, drawn: Drawn) -> list[Outcome]:
    """Check the first model's accuracy, assisted by the votes of all models, by `model_accuracies`."""
    made = ov.model_accuracies(drawn.models, drawn.labels)["m0"]
    found = made.get("assisted")
    return [WITHHELD] if found is None else [compare_ends(true_accuracies(design)[0], found)]


def cover_judged(design: Design, drawn: Drawn) -> list[Outcome]:
    """Check the first model's accuracy, assisted by a simulated judge, by `model_accuracies`."""
    rng, width = np.random.default_rng(list(drawn.truth.values())), max(design.K)
    y, k = np.array([*drawn.truth.values()]), np.resize(design.K, len(drawn.truth))
    weight = np.exp(2 * (rng.normal(size=(len(y), width)) + 2 * (np.arange(width) == y[:, None])))
    p = np.where(np.arange(width) < k[:, None], weight, 0.0)
    option, sure = p.argmax(axis=1), p.max(axis=1) / p.sum(axis=1)
    judges = {
        "knows": (option, sure),
        "reversed": (option, 1 - sure),
        "lies": ((y + 1) % k, rng.random(len(y))),
        "constant": (0 * y, 0 * sure + 0.9),
    }
    rows = zip(drawn.truth, *judges[design.options["judge"]], strict=True)
    judge = [Prediction(name, int(o), confidence=float(s)) for name, o, s in rows]
    found = ov.model_accuracies(drawn.models, drawn.labels, judges={"judge": judge})["m0"].get("judged")
    return [WITHHELD] if found is None else [compare_ends(true_accuracies(design)[0], found)]


def cover_class(design: Design, drawn: Drawn) -> list[Outcome]:
    """Check one per-class result: that of the first model or, with several models, the difference of two."""
    K, name = design.K[0], design.options["result"]
    costs = 1.0 - np.eye(K)
    costs[0, 1:] = MISSED
    metric = name.partition("[")[0]
    asked: dict[str, Any] = {"metrics": [] if name == "cost" else [metric]}
    if name == "cost":
        asked["costs"] = ov.CostTable(costs=costs, unreadable=np.where(np.arange(K) == 0, MISSED, 1.0))
    classes, scale = CLASSES[:K], MISSED if name == "cost" else 1.0
    found: Any = None
    if len(drawn.models) > 1 and not design.later:
        truth = true_result(design, 0)[name] - true_result(design, 1)[name]
        compared = ov.compare_classes(drawn.models, drawn.labels, classes, **asked).results
        found = compared[name][0] if name in compared else None
    else:
        truth = true_result(design)[name]
        made = ov.classification_report(
            drawn.models["m0"], drawn.labels, classes, strata=drawn.strata, **asked
        )
        found = made.get(name)
    return [WITHHELD] if found is None else [replace(o := compare_ends(truth, found), width=o.width / scale)]


def cover_ranking(design: Design, drawn: Drawn) -> list[Outcome]:
    """Check whether all differences of three or more models are covered at once, and no verdict is wrong."""
    truth = dict(zip(drawn.models, true_accuracies(design), strict=True))
    try:
        pairs = ov.compare(drawn.models, drawn.labels).pairs
    except EstimateError:
        return [WITHHELD]
    outcomes = [compare_ends(truth[p.first] - truth[p.second], p) for p in pairs]
    wrong = (
        p for p in pairs if p.verdict != "tie" and truth[p.verdict] < max(truth[p.first], truth[p.second])
    )
    outcomes += [Outcome(False, p.holds, 0.0) for p in wrong]
    return _all_of(outcomes)


def cover_anytime(design: Design, drawn: Drawn) -> list[Outcome]:
    """Check the anytime interval at ten interim analyses, all of which must cover."""
    (truth,), (predictions,) = true_accuracies(design), drawn.models.values()
    n_options = {x.item_id: x.n_options for x in drawn.labels}
    outcomes = []
    for look in range(1, 11):
        first = drawn.labels[: max(1, len(drawn.labels) * look // 10)]
        # The labels are in random order, so the first ones are checked like a study without open questions.
        part = Labels(first, replace(design_of(drawn.labels), drawn=()))
        try:
            running = ov.accuracy(predictions, part, interval="anytime", n_options=n_options)
        except EstimateError:
            continue
        outcomes.append(compare_ends(truth, running))
    return _all_of(outcomes) if outcomes else [WITHHELD]


def _all_of(outcomes: list[Outcome]) -> list[Outcome]:
    if any(o.covered is None for o in outcomes):
        return [WITHHELD]
    width = float(np.mean([o.width for o in outcomes]))
    return [Outcome(all(o.covered for o in outcomes), all(o.holds for o in outcomes), width)]


def cover_certificate(design: Design, rng: np.random.Generator) -> list[Outcome]:
    """Check that a model exactly as good as an annotator, with independent errors, is not certified."""
    n, classes = design.n, design.K[0]
    people, human = int(design.options.get("annotators", 3)), design.accuracies[0]
    y = rng.integers(0, classes, n)
    slots = [_noisy(y, human, classes, rng) for _ in range(people + 1)]
    found = assess_superhuman(
        make_panel_from_grid(np.stack(slots[:people], axis=1), CLASSES[:classes]), slots[people]
    )
    return [Outcome(not found.certified)]


def cover_parity(design: Design, rng: np.random.Generator) -> list[Outcome]:
    """Check that the interval of people minus model contains 0 if the model answers like an annotator."""
    n, classes = design.n, design.K[0]
    people = int(design.options.get("annotators", 5))
    y = rng.integers(0, classes, n)
    slots = [_noisy(y, design.accuracies[0], classes, rng) for _ in range(people + 1)]
    panel = make_panel_from_grid(np.stack(slots[:people], axis=1), CLASSES[:classes])
    gap = measure_parity(panel, slots[people]).overall.delta
    return [Outcome(gap.low - NEAR <= 0 <= gap.high + NEAR, width=gap.high - gap.low)]


def _noisy(y: Any, rate: float, classes: int, rng: np.random.Generator) -> Any:
    wrong = (y + 1 + rng.integers(0, classes - 1, len(y))) % classes
    return np.where(rng.random(len(y)) < rate, y, wrong)


KINDS: dict[str, Callable[[Design, Drawn], list[Outcome]]] = {
    "accuracy": cover_accuracy,
    "difference": cover_difference,
    "joint": cover_joint,
    "assisted": cover_assisted,
    "judged": cover_judged,
    "class": cover_class,
    "ranking": cover_ranking,
    "anytime": cover_anytime,
}


def cover_winner(design: Design, rng: np.random.Generator) -> list[Outcome]:
    """Check the interval of the winner of a simulated search."""
    archive, kind, size = (design.options[name] for name in ("archive", "labels", "candidates"))
    truth, low, high = draw_winner(archive, kind, design.K[0], design.n, size, rng)
    return [Outcome(low - NEAR <= truth <= high + NEAR, width=high - low)]


def cover_pool(design: Design, rng: np.random.Generator) -> list[Outcome]:
    """Check the accuracy on a whole pool, estimated from the items drawn from it."""
    return [
        WITHHELD if found is None else compare_ends(truth, found)
        for truth, found in draw_from_pool(design, rng)
    ]


def cover_panel(design: Design, rng: np.random.Generator) -> list[Outcome]:
    """Check a score of a panel of annotators; its name is the design's option ``score``."""
    truth, found = draw_panel_score(design, rng)
    return [WITHHELD if found is None else compare_ends(truth, found)]


APART: dict[str, Callable[[Design, np.random.Generator], list[Outcome]]] = {
    "certificate": cover_certificate,
    "panel": cover_panel,
    "parity": cover_parity,
    "pool": cover_pool,
    "winner": cover_winner,
}


def cover(design: Design, rng: np.random.Generator) -> list[Outcome]:
    """Draw one study of a design, and check its intervals."""
    if design.kind in APART:
        return APART[design.kind](design, rng)
    return KINDS[design.kind](design, draw(design, rng))
