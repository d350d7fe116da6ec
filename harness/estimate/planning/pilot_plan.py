"""What a pilot says of the questions that a half-width costs, with other models' votes, a judge, a pool.

Each row is made with the variance of the estimate that it names (`side_variances`). Without side information
the number is uncertain as far as the accuracy is; with it also because what votes or a judge are worth was
seen on the pilot's answers alone. Where these are too few for that, a row has the reason in place of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from oversight.harness.arrays import IntArray
from oversight.harness.columns import AnyLabels, AnyPredictions, align_pool
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import check_level, z_value
from oversight.harness.estimate.judged import LEAST_KINDS
from oversight.harness.estimate.planning.pilot_answers import PilotAnswers, PilotStudy
from oversight.harness.estimate.planning.planned_row import (
    Aim,
    FoundRatio,
    PlannedRow,
    PlanWords,
    find_ratios,
)
from oversight.harness.estimate.planning.rehearsed_studies import REACHED, log_spread
from oversight.harness.estimate.planning.sample_size import (
    PARTITIONED,
    SEQUENTIAL,
    SHARED,
    TARGETED,
    UNIFORM,
    check_sought,
)
from oversight.harness.estimate.planning.side_variances import (
    JUDGE,
    NONE,
    PARTS,
    POOL,
    POOL_JUDGE,
    POOL_VOTES,
    VOTES,
    ItemVariance,
    accuracy_variance,
    side_variances,
)
from oversight.harness.estimate.routed import routed_accuracy, weigh_votes
from oversight.harness.expected import check_mapping, check_names
from oversight.harness.types import HtmlTable, Shown

LEAST_ANSWERS = 50
"""Answered items from which on a plan is made: of fewer, numbers mean next to nothing."""
_GRID = 9
_WIDER, _SETTLED, _STRATA = 1.03, 1.015, 1.05
"""Times as wide as the variance says: intervals on average, exact ones of a share, and those with strata."""


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
    mean, size = min(1 - 1 / (n + 2), max(1 / (n + 2), found.value)), study.pool_size(name)
    pool_why = few = ""
    if min(found.value, 1 - found.value) * n < LEAST_KINDS:
        kind = "wrong" if mean > 0.5 else "right"
        pool_why = few = f"not known: fewer than {LEAST_KINDS} of {n} items are {kind}, by these answers"
    else:
        drawn = aim.find(ItemVariance(whole=accuracy_variance(pilot, mean)), 1.0, mean)
        try:
            pilot = study.add_strata(pilot, name, items, max(1, min(size, round(aim.questions or drawn))))
        except EstimateError as error:
            pool_why = str(error)
    whys = _give_reasons(study, pilot, few, pool_why)
    if all(whys.values()):
        pilot = replace(pilot, judges=(), votes=pilot.option[:, None], guess=None)
    made = side_variances(pilot, mean, pool=size, curved=True)
    sought = aim.find_all(made, mean)
    ratios = find_ratios(pilot, sought, aim, mean, size)
    words = PlanWords(study=study, aim=aim, size=size, cost=made.cost)
    spread = _spread(pilot, mean, (found.low, found.high), aim)
    row = PlannedRow(model=name, uses=NONE, answers=n)
    expected = dict(sought)
    for side, found_so_far in expected.items():
        ends = _widen(found_so_far, spread, ratios.get(side))
        sought[side] = found_so_far * _keep_promise(study, pilot, mean, words, (side, found_so_far, ends[1]))
    yield words.fill(row, (sought[NONE], expected[NONE]), _widen(sought[NONE], spread, ratios.get(NONE)))
    for side, why in whys.items():
        one, ratio = replace(row, uses=side), ratios.get(side)
        told = why or made.undefined.get(side, "") or ("" if ratio else "not known from these answers")
        if not told and POOL in PARTS[side]:
            told = words.refuse_items(sought[side])
        if not told and ratio:
            ends = _widen(sought[side], spread, ratio)
            yield words.fill(one, (sought[side], expected[side]), ends, sought[NONE], ratio)
        elif len(PARTS[side]) == 1:  # of a combination a part has said why
            yield words.explain(one, told)


def _keep_promise(
    study: PilotStudy, pilot: PilotAnswers, mean: float, words: PlanWords, found: tuple[str, float, float]
) -> float:
    """Times as many questions, or as wide a half-width, as 80 % of studies reach in place of the mean one.

    What the pilot leaves uncertain, as the upper end of an interval says, and how half-widths vary from study
    to study, as rehearsed without side information, are added in squares.
    """
    side, sought, high = found
    aim, settled = words.aim, study.protocol == SEQUENTIAL or pilot.settles
    power = 1 if aim.half_width is None else 2
    name = UNIFORM if study.protocol == PARTITIONED else TARGETED if settled else SHARED
    models = len(study.asked_for) if name == SHARED else 1
    items = _round(max(1.0, words.count_items(sought)))
    K, near = round(float(pilot.data.n_options.mean())), min(0.98, max(0.02, round(mean, 2)))
    varies = log_spread(name, K, near, models, items, aim.level)
    learned = float(ndtri(REACHED)) * math.log(high / sought) / z_value(aim.level)
    wider = _WIDER if not settled else _SETTLED if side == NONE else _STRATA
    return wider**power * math.exp(math.hypot(learned, power * varies))


def _round(items: float) -> int:
    """To two digits, as rehearsals of nearly as many items tell the same."""
    digits = int(10 ** max(0, math.floor(math.log10(items)) - 1))
    return max(1, round(items / digits) * digits)


def _widen(sought: float, spread: tuple[float, float], ratio: FoundRatio | None) -> tuple[float, float]:
    """Ends of what is sought, uncertain as the accuracy is and as what was learned is."""
    learned = math.log(ratio.high / ratio.value) if ratio else 0.0
    low, high = (math.hypot(math.log(each), learned) for each in spread)
    return sought * math.exp(-low), sought * math.exp(high)


def _give_reasons(study: PilotStudy, pilot: PilotAnswers, few: str, pool_why: str) -> dict[str, str]:
    """What there is to make use of, with the reason why it is not known or not of use, else empty."""
    settled = "every question settles a prediction, and {} nothing" if pilot.settles else ""
    if study.protocol == SEQUENTIAL and study.is_silent:
        pool_why = pool_why or "where experts are silent, the interval of resolved items knows no strata"
    several, found = pilot.votes.shape[1] > 1, dict[str, str]()
    if several:
        found[VOTES] = settled.format("votes add") or few
    if pilot.judges:
        found[JUDGE] = settled.format("a judge adds") or few
    if study.protocol == PARTITIONED:
        found[POOL] = pool_why or "the interval of uniformly drawn options knows no strata"
    else:
        found[POOL] = pool_why
    if several and not pilot.settles:
        found[POOL_VOTES] = pool_why
    if pilot.judges and study.protocol != SEQUENTIAL:
        found[POOL_JUDGE] = pool_why
    return found


def _spread(pilot: PilotAnswers, mean: float, ends: tuple[float, float], aim: Aim) -> tuple[float, float]:
    """How many times as small and as large what is sought may be, the accuracy lying between these ends."""
    edge = 1 / (len(pilot.option) + 2)
    low, high = (min(1 - edge, max(edge, end)) for end in ends)
    now = accuracy_variance(pilot, mean)
    ratios = [accuracy_variance(pilot, float(m)) / now for m in np.linspace(low, high, _GRID)]
    power = 1.0 if aim.half_width is not None else 0.5
    return max(1.0, min(1.0, *ratios) ** -power), max(1.0, *ratios) ** power


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotPlan(Shown):
    """Questions by model and by what is made use of beside experts' answers.

    Attributes
    ----------
    rows
        One a model and use.
    protocol
        Of the study that is planned.
    aim
        What was asked for.
    """

    rows: tuple[PlannedRow, ...]
    protocol: str
    aim: Aim

    def records(self) -> list[dict[str, Any]]:
        """A row a model and use."""
        return [asdict(row) for row in self.rows]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        rows = [(row.model, row.sentence) for row in self.rows]
        title = f"Plan, {self.protocol}, {self.aim.level:.0%}"
        return (HtmlTable(title=title, columns=("model", "plan"), rows=rows),)


def plan_from_pilot(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    *,
    judges: Mapping[str, AnyPredictions] | None = None,
    protocol: str | None = None,
    asked_for: Sequence[str] | None = None,
    half_width: float | None = None,
    questions: int | None = None,
    level: float = 0.95,
    epsilon: float = 0.1,
    n_options: IntArray | None = None,
    voters: Mapping[str, AnyPredictions] | None = None,
) -> PilotPlan:
    """Questions that a half-width costs, from predictions and the answers to a pilot study.

    Parameters
    ----------
    models, judges
        Predictions by name, of all items of which more are to be asked about.
    labels
        Of the pilot: a part of the items drawn at random, such as `label route --questions` draws.
    protocol
        Of the study to plan: ``partitioned``, ``targeted`` or ``sequential``; None is the pilot's own.
    asked_for
        Models whose predictions targeted and sequential questions look at; None for all.
    half_width, questions
        Give one: 0.03 is ± 3 points (the default); or the questions there is money for.
    level
        Confidence level.
    epsilon
        Uniform share of targeted propensities for several models.
    n_options
        Shape (N,): K of every item, with predictions as columns; None where all have the same.
    voters
        Models that vote; None for those in `models`.

    Raises
    ------
    EstimateError
        If an argument is out of range, items share clusters, or the labels tell no accuracy.
    """
    check_mapping("models", models, "name to predictions")
    check_mapping("judges", judges or {}, "name to predictions")
    check_mapping("voters", voters or {}, "name to predictions")
    check_names("asked_for", asked_for or ())
    check_level(level)
    check_sought(half_width, questions)
    width = 0.03 if half_width is None and questions is None else half_width
    aim = Aim(half_width=width, questions=questions, level=level)
    more = {"judge": judges or {}, "voter": voters or {}}
    every = [*models.values(), *more["judge"].values(), *more["voter"].values()]
    columns, said = align_pool(every, labels)
    refuse("plan", said.conditions)
    named = dict(zip(models, columns, strict=False))
    wise = dict(zip(more["judge"], columns[len(named) :], strict=False))
    voting = dict(zip(more["voter"], columns[len(named) + len(wise) :], strict=False)) or named
    own = SEQUENTIAL if said.is_resolved else PARTITIONED if said.is_uniform else TARGETED
    chosen = own if protocol is None else protocol
    if chosen not in (PARTITIONED, TARGETED, SEQUENTIAL):
        known = f"{PARTITIONED}, {TARGETED} and {SEQUENTIAL}"
        raise EstimateError(f"protocol: a pilot tells what {known} cost, not {chosen!r}")
    looked_at = list(models) if asked_for is None else list(asked_for)
    for name in looked_at:
        if name not in named | voting:
            raise EstimateError(f"asked_for: {name!r} is not among the models: {', '.join(named | voting)}")
    study = PilotStudy(
        models=named,
        judges=wise,
        labels=said,
        voters=named | voting,
        asked_for=looked_at,
        protocol=chosen,
        epsilon=epsilon,
        n_options=n_options,
    )
    rows = [row for name in named for row in plan_model(study, name, aim)]
    return PilotPlan(rows=tuple(rows), protocol=chosen, aim=aim)
