"""What a pilot says of the questions that a half-width costs.

What a pilot says of the questions that a half-width costs, with other models' votes, a judge, a pool.

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

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import AnyLabels, AnyPredictions, align_pool
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import check_level, find_root, z_value
from oversight.harness.estimate.judged import LEAST_KINDS, split_items_evenly
from oversight.harness.estimate.planning.pilot_variances import (
    JUDGE,
    NONE,
    PARTS,
    POOL,
    POOL_JUDGE,
    POOL_VOTES,
    VOTES,
    ItemVariance,
    PilotAnswers,
    PilotStudy,
    SideVariances,
    accuracy_variance,
    side_variances,
)
from oversight.harness.estimate.planning.sample_size import (
    PARTITIONED,
    REACHED,
    SEQUENTIAL,
    SHARED,
    TARGETED,
    UNIFORM,
    check_sought,
    log_spread,
)
from oversight.harness.estimate.routed import routed_accuracy, t_quantile, weigh_votes
from oversight.harness.expected import check_mapping, check_names
from oversight.harness.types import HtmlTable, Shown

_GROUPS, _LEAST_GROUPS = 10, 8
"""Groups, and how many of them must tell."""
_STEPS = 8
_LARGEST = 5_000
"""Items of a pilot from which groups are left out in turn; of more, what is learned hardly varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What is sought: the questions for a half-width, or the half-width that so many questions give.

    Attributes
    ----------
    half_width, questions
        One of them.
    level
        Confidence level.
    answered
        Share of the questions that experts answer.
    """

    half_width: float | None
    questions: int | None
    level: float
    answered: float = 1.0

    def find(self, variance: ItemVariance, cost: float, mean: float) -> float:
        """Questions, or the half-width, for this variance per item, at so many questions an item."""
        wanted, level = self.half_width, self.level
        if wanted is None:
            return half_of(variance, (self.questions or 1) * self.answered / cost, mean, level)
        most = 4.0
        while half_of(variance, most, mean, level) > wanted:
            most *= 4
        items = find_root(lambda n: half_of(variance, n, mean, level) - wanted, most / 4, most)
        return items * cost / self.answered

    def find_all(self, found: SideVariances, mean: float) -> dict[str, float]:
        """The same of everything that is made use of."""
        return {side: self.find(variance, found.cost, mean) for side, variance in found.of.items()}


def half_of(variance: ItemVariance, items: float, mean: float, level: float) -> float:
    """Half of the interval whose ends are the means m with (m − A)² = t² v(m)/n, within [0, 1].

    Of a share without side information, and in comparisons, z √(v/n).
    """
    if variance.means is None:
        return z_value(level) * math.sqrt(variance.at(items) / items)
    width, z = 0.0, t_quantile(level, max(1.0, items))
    for side, most in ((-1, mean), (1, 1 - mean)):
        off = 0.0
        for _ in range(_STEPS):
            off = min(most, z * math.sqrt(variance.at(items, mean + side * off) / items))
        width += off
    return width / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRatio:
    """What is sought with side information, over the same without, and the ends of an interval.

    Without any it is 1, and the interval that of what the pilot's answers tell beside the accuracy.
    """

    value: float
    low: float
    high: float


def find_ratios(
    pilot: PilotAnswers, found: Mapping[str, float], aim: Aim, mean: float, pool: int | None
) -> dict[str, FoundRatio]:
    """Ratios to what is found without, with the jackknife over ten groups of items, all learned anew.

    Of more than 5,000 items the groups are of a sample of so many. What too few groups tell is left out.
    """
    n = len(pilot.option)
    kept = np.arange(n) if n <= _LARGEST else np.random.default_rng(0).permutation(n)[:_LARGEST]
    part = pilot if n <= _LARGEST else pilot.take(kept)
    group = split_items_evenly(part.data, None, _GROUPS, 1)
    left = dict[str, list[float]]()
    for one in range(_GROUPS):
        try:
            without = aim.find_all(
                side_variances(part.take(np.flatnonzero(group != one)), mean, pool=pool), mean
            )
        except EstimateError:
            continue
        for side, value in without.items():
            left.setdefault(side, []).append(math.log(value / (1 if side == NONE else without[NONE])))
    return {
        side: _with_ends(value / found[NONE], np.array(left[side]), aim.level, len(kept) / n)
        for side, value in found.items()
        if len(left.get(side, ())) >= _LEAST_GROUPS
    }


def _with_ends(value: float, logs: FloatArray, level: float, share: float) -> FoundRatio:
    """An interval by the jackknife of the logarithm."""
    half = t_quantile(level, logs.size - 1) * math.sqrt((logs.size - 1) * float(logs.var()) * share)
    return FoundRatio(value=value, low=value * math.exp(-half), high=value * math.exp(half))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """What one use of side information costs one model.

    Attributes
    ----------
    model, uses
        Name; ``none``, or what is made use of: ``votes``, ``judge``, ``pool``, joined by ``+``.
    questions, half_width
        What is put to experts, and the half-width that at least 80 % of such studies reach; None where it is
        not known.
    half_width_expected
        The mean half-width of such studies.
    low, high
        Ends of an approximate interval of the one of the two that was sought.
    without
        The same without side information.
    saving, saving_low, saving_high
        How many times as many questions are needed without; None without side information.
    answers
        Answered items of the pilot that it rests on.
    sentence
        The row in words; the reason where a number is not known.
    """

    model: str
    uses: str
    questions: int | None = None
    half_width: float | None = None
    half_width_expected: float | None = None
    low: float | None = None
    high: float | None = None
    without: float | None = None
    saving: float | None = None
    saving_low: float | None = None
    saving_high: float | None = None
    answers: int = 0
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWords:
    """What the rows of a model share.

    Attributes
    ----------
    size
        Items that the model answered, which more can be drawn from.
    cost
        Questions an item.
    """

    study: PilotStudy
    aim: Aim
    size: int
    cost: float

    def count_items(self, sought: float) -> float:
        """Items of a row, whose questions or half-width were sought."""
        questions = sought if self.aim.half_width is not None else float(self.aim.questions or 1)
        return questions * self.aim.answered / self.cost

    def refuse_items(self, sought: float) -> str:
        """Why there is no pool of items larger than these questions; empty if there is."""
        items = math.ceil(self.count_items(sought))
        return (
            ""
            if items < self.size
            else f"{self.size:,} items are no more than the {items:,} to be asked about"
        )

    def explain(self, row: PlannedRow, why: str) -> PlannedRow:
        """A row without a number."""
        return replace(row, sentence=f"{self._use(row.uses)}: {why}")

    def fill(
        self,
        row: PlannedRow,
        found: tuple[float, float],
        ends: tuple[float, float],
        without: float | None = None,
        ratio: FoundRatio | None = None,
    ) -> PlannedRow:
        """A row with what was sought, the ends of its interval, and the same without side information.

        `found` is what 80 % of studies reach and the mean.
        """
        wanted, given = self.aim.half_width, self.aim.questions
        sought, expected = found
        whole = wanted is not None
        low, high, value, other = (
            x if x is None or not math.isfinite(x) or not whole else float(math.ceil(x - 1e-9))
            for x in (*ends, sought, without)
        )
        power = 1 if whole else 2
        filled = replace(
            row,
            questions=int(value or 0) if whole else given,
            half_width=wanted if whole else value,
            half_width_expected=expected if wanted is None else wanted * math.sqrt(expected / sought),
            low=low,
            high=high,
            without=other,
            saving=None if ratio is None else ratio.value**-power,
            saving_low=None if ratio is None else ratio.high**-power,
            saving_high=None if ratio is None else max(ratio.low, 1e-9) ** -power,
        )
        return replace(filled, sentence=self._say(filled, sought))

    def _say(self, row: PlannedRow, sought: float) -> str:
        use = "" if row.uses == NONE else f" {self._use(row.uses)}"
        asked, width = f"{row.questions:,}", f"± {_points(row.half_width)} points"
        mean = f" in 80 % of studies, ± {_points(row.half_width_expected)} expected"
        if self.aim.half_width is not None:
            text = f"{asked} questions ({row.low:,.0f} to {row.high:,.0f}){use} buy {width}{mean}"
            text += "" if row.without is None else f"; {row.without:,.0f} without"
        else:
            text = f"{asked} questions{use} buy {width} ({_points(row.low)} to {_points(row.high)}){mean}"
            text += "" if row.without is None else f"; ± {_points(row.without)} without"
        over = self.count_items(sought) > self.size
        return text + (f"; there are {self.size:,} items" if over else "")

    def _use(self, uses: str) -> str:
        judges = ", ".join(self.study.judges)
        words = {
            VOTES: f"with these {len(self.study.voters)} models' votes",
            JUDGE: f"with the judge{'s' * (len(self.study.judges) > 1)} {judges}",
            POOL: f"about items drawn from {self.size:,} by agreement",
        }
        if uses == POOL_JUDGE:
            return f"about items drawn from {self.size:,}, {words[JUDGE]}"
        return ", ".join(words[part] for part in PARTS[uses])


def _points(share: float | None) -> str:
    return f"{100 * (share or 0):.1f}"


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
