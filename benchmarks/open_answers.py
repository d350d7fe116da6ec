"""Measure the coverage of intervals for open answers, and what orders of units and judges save.

Every study draws items from a large population of known means, asks about some of their units with
`draw_questions`, and estimates with `estimate_open`. Each result of a design is a cell, with the share of
studies whose interval covers the population's value. Cells below .95 by more than 2.6 standard errors are
simulated again with ten times the studies. The last line is JSON; its savings are for 8 units per answer, a
share of good units from Beta(6, 1.5), and a judge with an area under the ROC curve of .8.

    python benchmarks/open_answers.py [--quick] [--studies 200]
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr

from benchmarks._coverage_designs import LEVEL
from benchmarks._coverage_kinds import NEAR, Cell, Outcome
from benchmarks._options import read_options
from oversight.harness.open_answers import (
    Judgements,
    OpenEstimate,
    UnitTable,
    draw_questions,
    estimate_open,
    join_replies,
)

AGAIN = 10
FEWEST = 20
"""Minimum number of intervals in a cell whose coverage is checked."""
_FACTOR_STUDIES = 2_000
POPULATION = 20_000
# Two normal scores with variance 1 have an AUC of .8 if their means differ by this number.
AREA = 1.190
JUDGES = {"good": 1.5, "fair": AREA, "useless": 0.0, "reversed": -1.5}


@dataclass(frozen=True)
class Design:
    """One kind of study.

    `ask` is the mean number of questions per answer. `share` contains the parameters of the Beta distribution
    of an answer's share of good units, and `same` is the share of items to which all models give the same
    answer. With a larger `slope`, units with more points are good less often. `right` has the probabilities
    that an expert says "yes" if the truth is yes, and "no" if it is no. If experts err, they get `controls`
    control questions.
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
    right: tuple[float, float] = (1.0, 1.0)
    controls: int = 150
    anytime: bool = False
    clip: str = "none"

    def __str__(self) -> str:
        default = asdict(Design())
        return " ".join(f"{k}={v}" for k, v in asdict(self).items() if v != default[k] or k == "items")

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that this scheme of drawing questions identifies."""
        if not self.scheme.startswith("first no"):
            return ("score", "met")
        return ("no_error",) if "order" in self.scheme else ("score", "met", "no_error")


@dataclass(frozen=True)
class World:
    """A population of P items with up to U units per answer, answered by M models.

    Arrays have shape (P, U), (P, M, U), or (P,) for `same`. `truth` contains the true value of every result.
    """

    points: Any
    field: Any
    there: Any
    good: Any
    judge: Any
    same: Any
    truth: dict[tuple[Any, ...], float]


@lru_cache(maxsize=4)
def make_world(design: Design) -> World:
    """Draw the population of a design."""
    rng = np.random.default_rng(7)
    size, (least, most), M = POPULATION, design.units, design.models
    rows = 1 if not design.claims else M
    count = rng.integers(least, most + 1, size=(size, rows))
    there = np.arange(most) < np.repeat(count, M // rows, axis=1)[:, :, None]
    points: Any = np.ones((size, most))
    if design.points != "alike":
        points = rng.choice([1.0, 2.0, 3.0, 5.0, 8.0, 10.0], size=(size, most))
    if design.points == "negative":
        points[:, 1:] *= np.where(rng.random((size, most - 1)) < 0.3, -1, 1)
    field = rng.integers(design.fields, size=(size, most))
    mixed = np.sqrt(0.5) * rng.standard_normal((size, 1)) + np.sqrt(0.5) * rng.standard_normal((size, M))
    shift = 0.25 * np.arange(M)
    share = betaincinv(*design.share, ndtr(mixed - shift))[:, :, None]
    by_field = 0.3 * (field % 3 - 1) * (design.fields > 1)
    hard = np.exp(design.slope * (np.abs(points) - np.abs(points).mean()) / 5 + by_field)
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
    """Return the true value of every result of a design, by metric, models and field."""
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
    """Draw a study. Returns its units and, for each, whether it is met, its field and the judge's opinion."""
    chosen = rng.integers(POPULATION, size=design.items)
    place, model, unit = np.nonzero(world.there[chosen])
    item = chosen[place]
    most, M = world.points.shape[1], design.models
    answer = place * M + model
    of = np.where(world.same[item], 0, model)
    question = ((place * M + of) * most + unit).astype(np.int64)
    names = np.array([f"m{m}" for m in range(M)], dtype=object)
    field_names = np.array([f"f{f}" for f in range(design.fields)], dtype=object)
    true_field = field_names[world.field[item, unit]]
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


def ask(design: Design, seed: int) -> tuple[Any, ...]:
    """Draw a study, and the experts' replies to its questions.

    Returns the table of units, whether each is met, the drawn questions, the replies, and the judge.
    """
    world = make_world(design)
    rng = np.random.default_rng([seed, design.items])
    table, met, true_field, judge = draw_study(design, world, rng)
    experts = find_experts(design)
    scheme = design.scheme.split(",")[0]
    drawn = draw_questions(
        table,
        len(table) if scheme == "first no" else max(1, round(design.ask * design.items * design.models)),
        scheme,
        int(rng.integers(2**31)),
        experts=experts,
        judge=judge if scheme == "judge" or "order" in design.scheme else None,
        attempts=design.attempts,
    )
    is_met = met[drawn.row]
    silent = rng.random(len(drawn)) < design.abstain * np.where(is_met, 0.6, 1.6)
    own = np.array([experts[name] for name in drawn.expert], dtype=object) == true_field[drawn.row]
    reply = say(is_met, design.right, rng)
    reply = np.where(own, np.where(silent, "cannot tell", reply), "not my field")
    if design.unknown:
        accepted = np.zeros(int(drawn.question.max()) + 1, dtype=np.int64)
        accepted[drawn.question[own]] = drawn.attempt[own]
        reached = accepted[drawn.question]
        reply = np.where((reached > 0) & (drawn.attempt > reached), "", reply)
    if scheme == "first no":
        reply = stop_at_first_error(drawn, table, met, reply)
    return table, met, drawn, reply, judge


def say(is_met: Any, right: tuple[float, float], rng: np.random.Generator) -> Any:
    """Draw replies of experts; `right` has the probabilities of a right reply about met and unmet units."""
    is_right = rng.random(len(is_met)) < np.where(is_met, *right)
    return np.where(is_met == is_right, "yes", "no").astype(object)


def add_controls(design: Design, judgements: Judgements, seed: int) -> Judgements:
    """Add replies to control questions, of which half are about units that are met."""
    n = design.controls
    is_met = np.arange(n) % 2 == 0
    control = replace(
        judgements.take(np.arange(n) % len(judgements)),
        question=judgements.question.max() + 1 + np.arange(n),
        asked=np.ones(n, dtype=bool),
        propensity=np.full(n, np.nan),
        expert=np.full(n, "e0", dtype=object),
        reply=say(is_met, design.right, np.random.default_rng(seed)),
        gold=np.where(is_met, "yes", "no").astype(object),
    )
    return judgements.append(control)


def find_experts(design: Design) -> dict[str, str]:
    """Return one expert per field: name → field."""
    return {f"e{f}": f"f{f}" for f in range(design.fields)}


def run_study(design: Design, seed: int) -> dict[tuple[Any, ...], OpenEstimate]:
    """Run one study. Returns every estimate by metric, models and field."""
    table, _, drawn, reply, judge = ask(design, seed)
    judgements = join_replies(table, drawn, reply)
    most = int(table.unit.max()) + 1
    place = np.full((int(table.answer.max()) + 1) * most, -1)
    place[(table.answer * most + table.unit)] = np.arange(len(table))
    rows = place[judgements.answer * most + judgements.unit]
    if design.right != (1.0, 1.0):
        judgements = add_controls(design, judgements, seed)
        rows = np.r_[rows, np.zeros(design.controls, dtype=np.int64)]
    result = estimate_open(
        judgements,
        experts=find_experts(design),
        level=LEVEL,
        metrics=design.metrics,
        by_field=design.fields > 1,
        judge=judge[rows] if design.judge else None,
        clip=design.clip,
        anytime=design.anytime,
    )
    return {(e.metric, e.model, e.other, e.field): e for e in result.estimates}


def find_error(design: Design, seed: int) -> float:
    """Simulate one study. Returns the estimated mean score minus the true mean of the drawn answers."""
    found = run_study(design, seed)["score", "m0", None, None]
    assert found.value is not None
    return float(found.value - ask(design, seed)[1].mean())


def stop_at_first_error(drawn: Any, table: Any, met: Any, reply: Any) -> Any:
    """Return the replies, with "" for all units after the first error in their answer."""
    bad = (met != (table.points >= 0))[drawn.row]
    _, answer = np.unique(drawn.answer, return_inverse=True)
    first = np.full(answer.max() + 1, 10**6)
    known = bad & ((reply == "yes") | (reply == "no"))
    np.minimum.at(first, answer[known], drawn.order[known])
    return np.where(drawn.order > first[answer], "", reply)


def full_grid() -> list[Design]:
    """Return all designs, more than 120."""
    shares = ((6.0, 1.5), (60.0, 0.6), (0.6, 60.0), (0.5, 0.15), (1.0, 1.0))
    two, three, four = shares[:2], shares[:3], shares[:4]
    plain = Design(units=(2, 12))
    points = ("alike", "many", "negative")
    grid = [
        replace(plain, items=n, share=s, points=p) for s, n, p in product(shares, (20, 60, 200, 500), points)
    ]
    grid += [replace(plain, ask=ask, share=s) for ask, s in product((0.4, 2.5, 12.0), four)]
    for models, s in product((2, 3, 5), two):
        several = replace(plain, models=models, share=s)
        grid += [replace(several, items=30), replace(several, items=60, claims=True, same=0.3)]
    for fields_ in (2, 4, 8):
        several = Design(items=40 * fields_, fields=fields_, ask=2.0)
        unknown = replace(several, unknown=True)
        grid += [several, unknown, replace(unknown, attempts=2)]
    grid += [
        replace(plain, items=n, share=s, judge=judge) for judge, n, s in product(JUDGES, (20, 100, 300), two)
    ]
    by_judge = replace(plain, scheme="judge", points="many")
    grid += [replace(by_judge, items=n, judge=judge) for judge, n in product(JUDGES, (30, 150))]
    for n, s in product((20, 100), three):
        first = Design(items=n, share=s, scheme="first no", units=(2, 8))
        grid += [first, replace(first, scheme="first no, judge's order", judge="fair")]
    grid += [Design(items=100, fields=3, models=2, scheme="first no")]
    grid += [
        replace(plain, items=n, abstain=abstain, scheme=scheme, share=s)
        for n, abstain, scheme, s in product((30, 120), (0.03, 0.3), ("equal", "first no"), two)
    ]
    grid += [replace(plain, items=n, share=s, anytime=True) for n, s in product((60, 200), three)]
    grid += [replace(plain, points="negative", ask=12.0, clip="item", share=s) for s in three]
    steep = replace(plain, slope=1.0)
    grid += [replace(steep, items=n, share=s, points=p) for n, s, p in product((20, 100), two, points[1:])]
    grid += [
        replace(plain, items=n, share=s, points=p, models=2, right=right)
        for n, s, p, right in product((40, 150), two, points[::2], ((0.95, 0.9), (0.99, 0.7)))
    ]
    few = replace(plain, items=100, ask=2.0)
    grid += [
        replace(few, share=s, right=right, controls=controls)
        for s, right, controls in product(two, ((0.9, 0.9), (0.95, 0.95)), (10, 20, 40))
    ]
    return grid


def simulate(design: Design, studies: int, seed: int) -> tuple[list[Cell], float]:
    """Run this number of studies. Returns the cells of the design, and the share of withheld results."""
    truth = make_world(design).truth
    seen = defaultdict[tuple[Any, ...], list[Outcome]](list)
    withheld = []
    for study in range(studies):
        for key, found in run_study(design, seed + study).items():
            withheld.append(not found.holds)
            for kind, (low, high) in find_ends(design, found).items():
                if low is not None and high is not None:
                    seen[*key, kind].append(Outcome(low - NEAR <= truth[key] <= high + NEAR))
    cells = [Cell.of("/".join(map(str, key)), each) for key, each in seen.items()]
    return cells, float(np.mean(withheld))


def find_ends(design: Design, found: OpenEstimate) -> dict[str, tuple[float | None, float | None]]:
    """Return the ends of the intervals that are checked, by kind; None if an interval is withheld."""
    if design.right != (1.0, 1.0):
        # If the correction is negligible, the reported interval is the corrected one.
        return {"corrected": (found.corrected_low, found.corrected_high)}
    ends = {"main": (found.low, found.high) if found.holds else (None, None)}
    if design.abstain:
        ends["worst"] = (found.worst_low, found.worst_high)
    return ends


def check_design(job: tuple[Design, int]) -> int:
    """Measure and print a design. Returns the number of cells whose coverage is low in two measurements.

    The second measurement has ten times the studies.
    """
    design, studies = job
    cells, withheld = simulate(design, studies, 0)
    held = (
        np.average([cell.coverage for cell in cells], weights=[cell.draws for cell in cells]) if cells else 1
    )
    print(f"{held:6.1%} held, {withheld:6.1%} withheld  {design}", flush=True)
    suspects = {cell.name for cell in cells if cell.low and cell.draws >= FEWEST}
    again = simulate(design, AGAIN * studies, 10**6)[0] if suspects else []
    below = [cell for cell in again if cell.low and cell.name in suspects]
    for cell in below:
        print(f"        low: {cell.name} {cell.coverage:.3f} of {cell.draws}", flush=True)
    return len(below)


def measure_factors() -> dict[str, float]:
    """Measure what three methods save: to stop at the first error, a judge's order, a control variate."""
    design = Design(items=100, units=(8, 8), judge="fair")
    found = {}
    for name, scheme in (("stop_first", "first no"), ("stop_judge", "first no, judge's order")):
        stopped = replace(design, scheme=scheme)
        asked = [(ask(stopped, seed)[3] != "").sum() for seed in range(_FACTOR_STUDIES // 20)]
        found[name] = 8 * design.items / float(np.mean(asked))
    plain, judged = (
        [find_error(replace(design, judge=judge), seed) for seed in range(_FACTOR_STUDIES)]
        for judge in ("", "fair")
    )
    found["control_variate"] = float(np.mean(np.square(plain)) / np.mean(np.square(judged)))
    return {name: round(value, 3) for name, value in found.items()}


def main() -> None:
    """Run and print all designs. Exits with 1 if the coverage of a cell stays low."""
    args = read_options(__doc__, {"--studies": (200, 60)})
    grid = full_grid()[:: 4 if args.quick else 1]
    with get_context("fork").Pool(2) as pool:
        below = sum(pool.map(check_design, [(design, args.studies) for design in grid], chunksize=1))
    print(json.dumps({"designs": len(grid), "silent_below": below, **measure_factors()}))
    sys.exit(1 if below else 0)


if __name__ == "__main__":
    main()
