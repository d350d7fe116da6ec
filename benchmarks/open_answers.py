"""Open answers: do intervals from judgements of some units hold, and what do orders and judges save?

Every study draws items from a large population of known means, asks about some of their units through
`draw_questions`, and estimates with `estimate_open`. Each number of each design is a cell: the share of studies
whose interval holds the population's value. Cells below .95 by more than 2.6 standard errors are drawn again
with ten times the studies. The last line is JSON; factors are of 8 units per answer, good with a share from
Beta(6, 1.5), and of a judge with area .8.

    python benchmarks/open_answers.py [--quick] [--studies 200]
"""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr

sys.path.insert(0, str(Path(__file__).parents[1]))

from oversight.harness.open_answers import UnitTable, draw_questions, estimate_open, join_replies

LEVEL, STRICT, AGAIN = 0.95, 2.6, 10
POPULATION = 4000
AREA = 1.190  # distance of two normal scores with area .8 between them
JUDGES = {"good": 1.5, "fair": AREA, "useless": 0.0, "reversed": -1.5}


@dataclass(frozen=True)
class Design:
    """One kind of study; `ask` units per answer are asked about on average.

    `share` holds the parameters of the Beta distribution of an answer's share of good units, `same` the share
    of items to which all models give one answer, `slope` how much rarer units with more points are good.
    """

    items: int = 60
    models: int = 1
    units: tuple[int, int] = (6, 6)
    fields: int = 1
    share: tuple[float, float] = (6.0, 1.5)
    ask: float = 1.0
    scheme: str = "equal"
    points: str = "alike"
    claims: bool = False
    judge: str = ""
    abstain: float = 0.0
    unknown: bool = False
    attempts: int | None = None
    same: float = 0.0
    slope: float = 0.0
    anytime: bool = False
    clip: str = "none"

    def __str__(self) -> str:
        default = asdict(Design())
        return " ".join(f"{k}={v}" for k, v in asdict(self).items() if v != default[k] or k == "items")

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with the study: every question gets a yes or no."""
        return not self.abstain


@dataclass(frozen=True)
class World:
    """A population of items; arrays of shape (P, U) or (P, M, U), and the true value of every number."""

    points: Any
    field: Any
    there: Any
    good: Any
    judge: Any
    same: Any
    truth: dict[tuple[Any, ...], float]


@lru_cache(maxsize=4)
def make_world(design: Design) -> World:
    """Make the population of a design."""
    rng = np.random.default_rng(7)
    size, (least, most), M = POPULATION, design.units, design.models
    rows = 1 if not design.claims else M
    count = rng.integers(least, most + 1, size=(size, rows))
    there = np.arange(most) < np.repeat(count, M // rows, axis=1)[:, :, None]
    points = np.ones((size, most))
    if design.points != "alike":
        points = rng.choice([1.0, 2.0, 3.0, 5.0, 8.0, 10.0], size=(size, most))
    if design.points == "negative":
        points[:, 1:] *= np.where(rng.random((size, most - 1)) < 0.3, -1, 1)
    field = rng.integers(design.fields, size=(size, most))
    mixed = math.sqrt(0.5) * rng.standard_normal((size, 1)) + math.sqrt(0.5) * rng.standard_normal((size, M))
    shift = 0.25 * np.arange(M)
    share = betaincinv(*design.share, ndtr(mixed - shift))[:, :, None]
    hard = np.exp(design.slope * (np.abs(points) - np.abs(points).mean()) / 5 + 0.3 * (field % 3 - 1))
    good = rng.random((size, M, most)) < np.clip(share, 1e-9, 1) ** hard[:, None, :]
    same = rng.random(size) < design.same
    good[same] = good[same][:, :1]
    there[same] = there[same][:, :1]
    distance = JUDGES.get(design.judge, 0.0)
    score = distance * (good - 0.5) + rng.standard_normal(good.shape)
    judged = expit(logit(np.clip(good[there].mean(), 0.01, 0.99)) + (abs(distance) or 1.0) * score)
    yes = np.where(points[:, None, :] < 0, 1 - judged, judged)
    yes[same] = yes[same][:, :1]
    world = World(points, field, there, good, yes, same, {})
    world.truth.update(find_truth(design, world))
    return world


def find_truth(design: Design, world: World) -> dict[tuple[Any, ...], float]:
    """Means over the population of every number that the design estimates."""
    found: dict[tuple[Any, ...], float] = {}
    for f in [None, *range(design.fields)]:
        inside = world.there & (True if f is None else world.field[:, None, :] == f)
        point = np.where(inside, world.points[:, None, :], 0.0)
        whole = np.where(world.there, world.points[:, None, :], 0.0)
        top = np.maximum(whole if design.unknown else point, 0).sum(axis=2)
        loss = (np.abs(point) * ~world.good).sum(axis=2)
        has = top > 0
        met = (world.good == (world.points >= 0)[:, None, :]) & inside
        any_unit = inside.any(axis=2)
        clean = (world.good | ~inside).all(axis=2)
        for m in range(design.models):
            per_item = loss[has[:, m], m] / top[has[:, m], m]
            score = 1 - per_item.mean()
            if f is not None and design.unknown:
                gain = np.maximum(point, 0).sum(axis=2)[has[:, m], m] / top[has[:, m], m]
                score = 1 - per_item.mean() / gain.mean()
            name = f"m{m}", None, None if f is None else f"f{f}"
            found["score", *name] = score
            found["score_by_item", *name] = np.clip(1 - per_item, 0, 1).mean()
            found["met", *name] = met[:, m].sum() / inside[:, m].sum()
            found["no_error", *name] = clean[any_unit[:, m], m].mean()
    for metric, field in {(key[0], key[3]) for key in found}:
        for a, b in combinations(range(design.models), 2):
            one, two = found[metric, f"m{a}", None, field], found[metric, f"m{b}", None, field]
            found[metric, f"m{a}", f"m{b}", field] = one - two
    return found


def draw_study(design: Design, world: World, rng: np.random.Generator) -> tuple[Any, ...]:
    """One study's table of units, whether each is met, its field, and the judge's probabilities."""
    chosen = rng.integers(POPULATION, size=design.items)
    place, model, unit = np.nonzero(world.there[chosen])
    item = chosen[place]
    most, M = world.points.shape[1], design.models
    answer = place * M + model
    of = np.where(world.same[item], 0, model)
    question = ((place * M + of) * most + unit).astype(np.int64)
    names = np.array([f"m{m}" for m in range(M)], dtype=object)
    fields = np.array([f"f{f}" for f in range(design.fields)], dtype=object)
    true_field = fields[world.field[item, unit]]
    good = world.good[item, model, unit]
    points = world.points[item, unit]
    table = UnitTable(
        item=place,
        model=names[model],
        answer=answer,
        unit=answer * most + unit if design.claims else place * most + unit,
        points=points,
        field=np.full(len(item), None) if design.unknown else true_field,
        question=question,
    )
    return table, good == (points >= 0), true_field, world.judge[item, model, unit]


def run_study(design: Design, seed: int) -> dict[tuple[Any, ...], tuple[float, float, str, str]]:
    """Draw, ask and estimate once: (low, high, why, withheld) of every number."""
    world = make_world(design)
    rng = np.random.default_rng([seed, design.items])
    table, met, true_field, judge = draw_study(design, world, rng)
    experts = {f"e{f}": f"f{f}" for f in range(design.fields)}
    scheme = design.scheme.split(",")[0]
    answers = design.items * design.models
    n = max(1, round(design.ask * answers)) if scheme != "first no" else len(table)
    uses_judge = scheme == "judge" or "order" in design.scheme
    drawn = draw_questions(
        table,
        n,
        scheme,
        int(rng.integers(2**31)),
        experts=experts,
        judge=judge if uses_judge else None,
        attempts=design.attempts,
    )
    is_met = met[drawn.row]
    reply = np.where(is_met, "yes", "no").astype(object)
    field = true_field[drawn.row]
    own = np.array([experts[e] for e in drawn.expert], dtype=object) == field
    silent = rng.random(len(drawn)) < design.abstain * np.where(is_met, 0.6, 1.6)
    reply = np.where(own, np.where(silent, "cannot tell", reply), "not my field")
    if design.unknown:
        before = np.zeros(int(drawn.question.max()) + 1, dtype=np.int64)
        before[drawn.question[own]] = drawn.attempt[own]
        reached = before[drawn.question]
        reply = np.where((reached > 0) & (drawn.attempt > reached), "", reply)
    if scheme == "first no":
        reply = stop_at_first_error(drawn, table, met, reply)
    judgements = join_replies(table, drawn, reply)
    place = {key: row for row, key in enumerate(zip(table.answer.tolist(), table.unit.tolist(), strict=True))}
    rows = [place[key] for key in zip(judgements.answer.tolist(), judgements.unit.tolist(), strict=True)]
    result = estimate_open(
        judgements,
        experts=experts,
        level=LEVEL,
        metrics=("no_error",) if scheme == "first no" and uses_judge else ("score", "met", "no_error"),
        by_field=design.fields > 1,
        judge=judge[rows] if design.judge else None,
        clip=design.clip,
        anytime=design.anytime,
    )
    return {(e.metric, e.model, e.other, e.field): e for e in result.estimates}


def stop_at_first_error(drawn: Any, table: Any, met: Any, reply: Any) -> Any:
    """Replies with "" for what stands behind the first error of its answer."""
    bad = (met != (table.points >= 0))[drawn.row]
    _, answer = np.unique(drawn.answer, return_inverse=True)
    first = np.full(answer.max() + 1, 10**6)
    known = bad & ((reply == "yes") | (reply == "no"))
    np.minimum.at(first, answer[known], drawn.order[known])
    return np.where(drawn.order > first[answer], "", reply)
