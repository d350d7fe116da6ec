"""A model's rows of a plan: what each use of side information costs, or why that is not known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from harness.arrays import IntArray
from harness.errors import EstimateError
from harness.estimate.planning.needed_questions import Aim, FoundRatio, find_ratios
from harness.estimate.planning.pilot_answers import PilotAnswers
from harness.estimate.planning.pilot_gathering import PARTITIONED, SEQUENTIAL, PilotStudy
from harness.estimate.planning.planned_row import PlannedRow, PlanWords
from harness.estimate.planning.side_variances import (
    JUDGE,
    NONE,
    POOL,
    POOL_JUDGE,
    POOL_VOTES,
    VOTES,
    accuracy_variance,
    side_variances,
)
from harness.estimate.routed import routed_accuracy, weigh_votes

LEAST_ANSWERS = 50
"""Answered items from which on a plan is made: of fewer, numbers mean next to nothing."""
_GRID = 9
_LEAST_KINDS = 5
"""Items right, and wrong, from which on what side information is worth is known."""


def plan_model(study: PilotStudy, name: str, aim: Aim) -> list[PlannedRow]:
    """All rows of one model; one with the reason where nothing is known."""
    try:
        pilot, items, answered = study.gather(name)
        return list(_plan(study, name, replace(aim, answered=max(answered, 1e-9)), pilot, items))
    except EstimateError as error:
        return [PlannedRow(model=name, uses=NONE, sentence=str(error))]


def _plan(
    study: PilotStudy, name: str, aim: Aim, pilot: PilotAnswers, items: IntArray
) -> Iterator[PlannedRow]:
    n = len(pilot.option)
    if n < LEAST_ANSWERS:
        raise EstimateError(f"not known before {LEAST_ANSWERS} items are answered, there are {n}")
    working = weigh_votes(pilot.votes, pilot.data)
    found = routed_accuracy(pilot.option, pilot.data, level=aim.level, working=working)
    mean = min(1 - 1 / (n + 2), max(1 / (n + 2), found.value))
    alone = side_variances(replace(pilot, judges=(), votes=pilot.votes[:, :0]), mean, curved=True)
    plain = aim.find(alone.of[NONE], alone.cost, mean)
    spread = _spread(pilot, mean, (found.low, found.high), aim)
    size = study.pool_size(name)
    words = PlanWords(study=study, aim=aim, size=size, cost=alone.cost)
    row = PlannedRow(model=name, uses=NONE, answers=n)
    yield words.fill(row, plain, (plain / spread, plain * spread))
    few = ""
    if min(found.value, 1 - found.value) * n < _LEAST_KINDS:
        few = f"not known: fewer than {_LEAST_KINDS} of {n} items are {'wrong' if mean > 0.5 else 'right'}"
    drawn = words.count_items(plain)
    pool_why = few
    if not few:
        try:
            pilot = study.add_strata(pilot, name, items, max(1, min(size, round(drawn))))
        except EstimateError as error:
            pool_why = str(error)
    whys = _give_reasons(study, pilot, few, pool_why)
    yield from _side_rows(row, pilot, mean, (plain, spread), words, whys)


def _give_reasons(study: PilotStudy, pilot: PilotAnswers, few: str, pool_why: str) -> dict[str, str]:
    """What there is to make use of, with the reason why it is not known or not of use, else empty."""
    settled = "every question settles a prediction, and {} nothing" if pilot.settles else ""
    several, found = pilot.votes.shape[1] > 1, dict[str, str]()
    if several:
        found[VOTES] = settled.format("votes add") or few
    if pilot.judges:
        found[JUDGE] = settled.format("a judge adds") or few
    if study.protocol == PARTITIONED:
        found[POOL] = pool_why or "the interval of uniformly drawn options makes no use of strata"
    else:
        found[POOL] = pool_why
    if several and not pilot.settles:
        found[POOL_VOTES] = pool_why
    if pilot.judges and study.protocol != SEQUENTIAL:
        found[POOL_JUDGE] = pool_why
    return found


def _side_rows(
    row: PlannedRow,
    pilot: PilotAnswers,
    mean: float,
    plain: tuple[float, float],
    words: PlanWords,
    whys: dict[str, str],
) -> Iterator[PlannedRow]:
    """Rows with side information; a combination is left out where a part has a reason against it."""
    ratios, undefined = dict[str, FoundRatio](), dict[str, str]()
    value, spread = plain
    if not all(whys.values()):
        made = side_variances(pilot, mean, pool=words.size, curved=True)
        undefined.update(made.undefined)
        ratios = find_ratios(pilot, words.aim.find_all(made, mean), words.aim, mean, words.size)
    for side, why in whys.items():
        one = replace(row, uses=side)
        found = ratios.get(side)
        reason = why or undefined.get(side, "") or ("" if found else "not known from these answers")
        if found and not reason and side.startswith(POOL):
            reason = words.refuse_items(value * found.value)
        if found and not reason:
            off = math.exp(math.hypot(math.log(spread), math.log(found.high / found.value)))
            sought = value * found.value
            yield words.fill(one, sought, (sought / off, sought * off), value, found)
        elif "+" not in side:
            yield words.explain(one, reason)


def _spread(pilot: PilotAnswers, mean: float, ends: tuple[float, float], aim: Aim) -> float:
    """How many times as large or small what is sought may be, the accuracy lying between these ends."""
    edge = 1 / (len(pilot.option) + 2)
    low, high = (min(1 - edge, max(edge, end)) for end in ends)
    now = accuracy_variance(pilot, mean)
    ratios = [accuracy_variance(pilot, float(m)) / now for m in np.linspace(low, high, _GRID)]
    most = max(*ratios, 1 / max(min(ratios), 1e-9), 1.0)
    return most if aim.half_width is not None else math.sqrt(most)
