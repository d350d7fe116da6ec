"""Check whether the interval of a public call covers the true value in one draw; one function per kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any, TypeVar

import numpy as np

import oversight as ov
from benchmarks._coverage_designs import (
    CLASSES,
    MISSED,
    Design,
    Drawn,
    collect,
    draw,
    falls_short,
    true_accuracies,
    true_result,
    world,
)
from benchmarks._coverage_panels import draw_panel_score
from benchmarks._simulation import judge_signals
from oversight.agents.search import Archive, Kind, score_candidates, simulated_labels
from oversight.agents.search.fitness.board import Board
from oversight.harness import EstimateError, FloatArray
from oversight.harness.estimate import (
    RoutedSample,
    draw_in_proportion,
    draw_options,
    guess_right,
    propensities_for,
    run_checks,
    split_by_agreement,
    synthesise_population,
)
from oversight.harness.estimate.routed_means import routed_accuracy
from oversight.harness.panel import Panel, assess_superhuman, measure_parity
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.types import (
    Candidate,
    Estimate,
    Item,
    Labels,
    Prediction,
    PredictionStatus,
    Program,
    design_of,
)

T = TypeVar("T")
EQUAL, LEADS = 0.6, (0.7, 0.75, 0.8, 0.85, 0.9)
"""Accuracy of equal candidates, and accuracies of a candidate that leads them."""


def accuracies_of(archive: str, rng: np.random.Generator, size: int) -> FloatArray:
    """Return the true accuracies of all candidates in an archive of this kind and size."""
    if archive == "two":
        return np.array([0.55, 0.65])
    if archive == "a spread":
        return np.clip(rng.normal(0.6, 0.08, size), 0.05, 0.95)
    level = {"one breakthrough": 0.55, "all equal": EQUAL, "all bad": 0.03, "at chance": 0.1}[archive]
    found = np.full(size, level)
    if archive == "one breakthrough":
        found[-1] = 0.9
    return found


def winner_widths(kind: Kind, K: int, n: int, size: int, draws: int) -> tuple[float, float]:
    """Return the mean width of the winner's interval with equal candidates, and a lower bound for it.

    The lower bound follows Neyman and Pearson. Suppose that one candidate really leads. In 95 % of the draws,
    its lead in the data exceeds some limit. An interval with 95 % coverage must reach its accuracy in all
    these draws. Equal candidates also exceed this limit in some draws, by chance, and the interval must be as
    wide there. In all other draws, the bound is the width of an interval that is valid only for equal
    candidates. The function returns the largest bound over several true leads, because one interval must be
    valid for all of them.
    """
    rng = np.random.default_rng([4, n, K])
    equal = [_stand_out(np.full(size, EQUAL), kind, K, n, rng) for _ in range(draws)]
    ours, low, high, lead = (np.array(column) for column in zip(*equal, strict=True))
    least = []
    for true in LEADS:
        archive = np.append(np.full(size - 1, EQUAL), true)
        real = [_stand_out(archive, kind, K, n, rng)[3] for _ in range(draws)]
        reach = np.where(lead >= np.quantile(real, 0.05), np.maximum(high, true), high)
        least.append(float((reach - low).mean()))
    return float(ours.mean()), max(least)


def _stand_out(
    true: FloatArray, kind: Kind, K: int, n: int, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """Draw an archive. Returns four numbers about its winner.

    The numbers are the width of the winner's interval, the ends of an interval that is valid for equal
    candidates, and the winner's lead over the mean of the other candidates in standard errors.
    """
    board, best, _ = _score(true, kind, K, n, rng)
    standing, row = board.standing(best), board.ids.index(best)
    half = 1.96 * float(np.hypot(board.shrunk.sd[row], board.shrunk.level_se))
    means = np.nanmean(board.scores, axis=1)
    rest = board.scores - np.nanmean(board.scores, axis=0)
    se = float(np.nanstd(rest, axis=1).mean()) / np.sqrt(n)
    ours = min(1.0, standing.high) - max(0.0, standing.low)
    low, high = max(0.0, standing.mean - half), min(1.0, standing.mean + half)
    return ours, low, high, float(means[row] - np.delete(means, row).mean()) / se


def _score(
    true: FloatArray, kind: Kind, K: int, n: int, rng: np.random.Generator
) -> tuple[Board, str, float]:
    """Draw an archive and score it. Returns the board, the winner's id, and its true accuracy."""
    truth, answers = synthesise_population(n, K, true.tolist(), rng, correlation=0.5, temptation=0.5)
    labels = simulated_labels(truth, answers.T, K, kind, rng)
    options = tuple(str(k) for k in range(K))
    items = tuple(Item(x, "", options, tuple(range(K))) for x in labels.items)
    kept = Archive({"select": items})
    for j, row in enumerate(answers.T.tolist()):
        candidate = Candidate(Program(f"p{j:02}", f"# {j}\n"), j, "fresh")
        kept.add_candidate(candidate)
        made = [Prediction(x.id, y, output_tokens=1) for x, y in zip(items, row, strict=True)]
        kept.record(candidate.id, 0, made)
    board = score_candidates(kept, items, labels)
    best = board.ranked()[0]
    return board, best, float(true[board.ids.index(best)])


TIMES = 6
"""Size of the pool as a multiple of the sample size."""


def draw_from_pool(design: Design, rng: np.random.Generator) -> list[tuple[float, Estimate | None]]:
    """Draw a pool and a sample. Returns pairs of the first model's true accuracy and an estimate.

    The first estimate uses no votes, the second the votes of all models. A withheld estimate is None. The
    design's option ``targets`` is the number of models for which questions are drawn. The option ``strata``
    says how items are stratified: by the models' agreement (``agreement``, or ``reversed`` for the reverse
    order), or by whether the first model is right (``truth``).
    """
    items, models, truth, _ = world(replace(design, n=TIMES * design.n), rng)
    rows = [[-1 if p.option is None else p.option for p in each] for each in models.values()]
    predicted = np.array(rows, np.int64).T
    right = predicted[:, 0] == [truth[item.id] for item in items]
    ran = np.array([p.status is not PredictionStatus.FAILED for p in models["m0"]])
    targets = list(models)[: design.options["targets"]]
    n_options = np.array([len(item.options) for item in items], np.int64)
    guesses = guess_right(predicted, n_options)[:, : len(targets)]
    score: dict[str, FloatArray] = {
        "agreement": guesses,
        "reversed": -guesses,
        "truth": right[:, None] + 0.5 * rng.random((len(items), 1)),
    }
    stratum = split_by_agreement(score[design.options["strata"]], design.n)
    places = draw_in_proportion(stratum, design.n, rng)
    chosen = [items[j] for j in places.tolist()]
    drawn = {item.id: str(s) for item, s in zip(chosen, stratum[places].tolist(), strict=True)}
    labels = collect(design, chosen, {name: models[name] for name in targets}, truth, rng)
    labels = labels.drawn_from(drawn, pool_size=len(items))
    shown = models if design.protocol == "partitioned" else targets
    known = {name: [models[name][j] for j in places.tolist()] for name in shown}
    value, names = float(right[ran].mean()), ("ml", "routed", "resolved", "assisted")
    try:
        made = ov.model_accuracies(known, labels)["m0"]
    except EstimateError:
        return [(value, None)]
    return [(value, made[name]) for name in names if name in made] or [(value, None)]


@dataclass(frozen=True)
class Outcome:
    """Whether an interval covers the true value (None: it was withheld), its `holds`, and its width."""

    covered: bool | None
    holds: bool = True
    width: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Results of a design.

    Attributes
    ----------
    coverage, draws
        Coverage and number of the intervals with ``holds: true``.
    width
        Mean width of these intervals.
    withheld, unsure
        Share of intervals that were withheld, and share of intervals with ``holds: false``.
    reference
        Mean width of the narrowest reference interval that covers; NaN if none is computed.
    compared
        Mean width of our intervals on the draws of the reference.
    """

    name: str
    coverage: float
    draws: int
    width: float
    withheld: float
    unsure: float
    reference: float = math.nan
    compared: float = math.nan

    @classmethod
    def of(cls, name: str, seen: Sequence[Outcome]) -> Cell:
        """Count the outcomes of a design."""
        printed = [o for o in seen if o.covered is not None and o.holds]
        return cls(
            name=name,
            coverage=float(np.mean([o.covered for o in printed])) if printed else math.nan,
            draws=len(printed),
            width=float(np.mean([o.width for o in printed])) if printed else math.nan,
            withheld=sum(o.covered is None for o in seen) / len(seen),
            unsure=sum(o.covered is not None and not o.holds for o in seen) / len(seen),
        )

    @property
    def low(self) -> bool:
        """Whether the coverage is significantly below the level."""
        return falls_short(self.coverage, self.draws)

    def __str__(self) -> str:
        """Return a line of the printed table."""
        return (
            f"{self.coverage:8.3f} {self.width:7.3f} {self.reference:9.3f} {self.withheld:8.2f} "
            f"{self.unsure:6.2f}  {self.name}{'  LOW' if self.low else ''}"
        )


WITHHELD = Outcome(None)
NEAR = 1e-9


def compare_ends(truth: float, found: Any) -> Outcome:
    """Compare the ends of an interval with the true value; an interval of None is withheld."""
    if found is None:
        return WITHHELD
    inside = found.low - NEAR <= truth <= found.high + NEAR
    return Outcome(bool(inside), found.holds, found.high - found.low)


def cover_accuracy(design: Design, drawn: Drawn) -> Outcome:
    """Check `accuracy` for one model: the last model if it was added later, else the first."""
    place = -1 if design.later else 0
    predictions = list(drawn.models.values())[place]
    found = ov.accuracy(predictions, drawn.labels, strata=drawn.strata, gold=drawn.gold)
    return compare_ends(true_accuracies(design)[place], found)


def cover_difference(design: Design, drawn: Drawn) -> Outcome:
    """Check the difference of the first two models by `oversight.compare`."""
    a, b = true_accuracies(design)[:2]
    (pair,) = ov.compare(dict(list(drawn.models.items())[:2]), drawn.labels).pairs
    return compare_ends(a - b, pair)


def cover_joint(design: Design, drawn: Drawn) -> Outcome:
    """Check whether the intervals of `model_accuracies(joint=True)` cover all models' accuracies at once."""
    found = ov.model_accuracies(drawn.models, drawn.labels, joint=True)
    outcomes = []
    for truth, made in zip(true_accuracies(design), found.values(), strict=True):
        main = next((made[name] for name in ("ml", "routed", "resolved") if name in made), None)
        outcomes.append(compare_ends(truth, main))
    return join_outcomes(outcomes)


def cover_assisted(design: Design, drawn: Drawn) -> Outcome:
    """Check the first model's accuracy, assisted by the votes of all models, by `model_accuracies`."""
    found = ov.model_accuracies(drawn.models, drawn.labels)["m0"].get("assisted")
    return compare_ends(true_accuracies(design)[0], found)


def cover_judged(design: Design, drawn: Drawn) -> Outcome:
    """Check the first model's accuracy, assisted by a simulated judge, by `model_accuracies`."""
    rng = np.random.default_rng(list(drawn.truth.values()))
    y, k = np.array([*drawn.truth.values()]), np.resize(design.K, len(drawn.truth))
    p = judge_signals(y, k, 2, rng)
    option, sure = p.argmax(axis=1), p.max(axis=1)
    judges = {
        "knows": (option, sure),
        "reversed": (option, 1 - sure),
        "lies": ((y + 1) % k, rng.random(len(y))),
        "constant": (0 * y, 0 * sure + 0.9),
    }
    rows = zip(drawn.truth, *judges[design.options["judge"]], strict=True)
    judge = [Prediction(name, int(o), confidence=float(s)) for name, o, s in rows]
    found = ov.model_accuracies(drawn.models, drawn.labels, judges={"judge": judge})["m0"].get("judged")
    return compare_ends(true_accuracies(design)[0], found)


def cover_class(design: Design, drawn: Drawn) -> Outcome:
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
        first = drawn.models["m0"]
        made = ov.classification_report(first, drawn.labels, classes, strata=drawn.strata, **asked)
        found = made.get(name)
    outcome = compare_ends(truth, found)
    return replace(outcome, width=outcome.width / scale)


def cover_ranking(design: Design, drawn: Drawn) -> Outcome:
    """Check whether all differences of three or more models are covered at once, and no verdict is wrong."""
    truth = dict(zip(drawn.models, true_accuracies(design), strict=True))
    outcomes = []
    for pair in ov.compare(drawn.models, drawn.labels).pairs:
        outcomes.append(compare_ends(truth[pair.first] - truth[pair.second], pair))
        if pair.verdict != "tie" and truth[pair.verdict] < max(truth[pair.first], truth[pair.second]):
            outcomes.append(Outcome(False, pair.holds, 0.0))
    return join_outcomes(outcomes)


def cover_anytime(design: Design, drawn: Drawn) -> Outcome:
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
    return join_outcomes(outcomes)


def join_outcomes(outcomes: list[Outcome]) -> Outcome:
    """Join intervals that must all cover at once; without any interval, the result is withheld."""
    if not outcomes or any(o.covered is None for o in outcomes):
        return WITHHELD
    width = float(np.mean([o.width for o in outcomes]))
    return Outcome(all(o.covered for o in outcomes), all(o.holds for o in outcomes), width)


def cover_certificate(design: Design, rng: np.random.Generator) -> Outcome:
    """Check that a model exactly as good as an annotator, with independent errors, is not certified."""
    return Outcome(not assess_superhuman(*_draw_equals(design, rng)).certified)


def cover_parity(design: Design, rng: np.random.Generator) -> Outcome:
    """Check that the interval of people minus model contains 0 if the model answers like an annotator."""
    gap = measure_parity(*_draw_equals(design, rng)).overall.delta
    return Outcome(gap.low - NEAR <= 0 <= gap.high + NEAR, width=gap.high - gap.low)


def _draw_equals(design: Design, rng: np.random.Generator) -> tuple[Panel, Any]:
    """Draw a panel of annotators, and predictions of a model that is as good as they are."""
    n, classes, people = design.n, design.K[0], int(design.options["annotators"])
    y = rng.integers(0, classes, n)
    slots = [_noisy(y, design.accuracies[0], classes, rng) for _ in range(people + 1)]
    return make_panel_from_grid(np.stack(slots[:people], axis=1), CLASSES[:classes]), slots[people]


def _noisy(y: Any, rate: float, classes: int, rng: np.random.Generator) -> Any:
    wrong = (y + 1 + rng.integers(0, classes - 1, len(y))) % classes
    return np.where(rng.random(len(y)) < rate, y, wrong)


def cover_winner(design: Design, rng: np.random.Generator) -> Outcome:
    """Check the interval of the winner of a simulated search."""
    archive, kind, size = (design.options[name] for name in ("archive", "labels", "candidates"))
    true = accuracies_of(archive, rng, size)
    board, best, own = _score(true, kind, design.K[0], design.n, rng)
    low, high = max(0.0, board.standing(best).low), min(1.0, board.standing(best).high)
    return Outcome(low - NEAR <= own <= high + NEAR, width=high - low)


def cover_panel(design: Design, rng: np.random.Generator) -> Outcome:
    """Check a score of a panel of annotators; its name is the design's option ``score``."""
    return compare_ends(*draw_panel_score(design, rng))


def cover_misled(design: Design, rng: np.random.Generator) -> Outcome:
    """Check the accuracy of a rarely right model, if questions are drawn by votes for one wrong option."""
    n, K, (a,) = design.n, design.K[0], design.accuracies
    y = rng.integers(0, K, n)
    vote = np.where(rng.random(n) < 0.7, (y + 1) % K, y)
    wrong = np.where(rng.random(n) < 0.7, (y + 1) % K, (y + rng.integers(1, K, n)) % K)
    predicted = np.where(rng.random(n) < a, y, wrong)
    pi = propensities_for(np.stack([vote, vote], axis=1), K, K)
    asked = draw_options(pi, rng)
    sample = RoutedSample(np.arange(n), asked, (asked == y).astype(np.float64), pi)
    return compare_ends(a, routed_accuracy(predicted, sample))


def cover_checks(_: Design, drawn: Drawn) -> Outcome:
    """Check that no check of an assumption fails for any model."""
    models = list(drawn.models.values())
    checks = [
        check
        for j, model in enumerate(models)
        for check in run_checks(model, drawn.labels, others=[*models[:j], *models[j + 1 :]])
    ]
    return Outcome(all(check.state != "failed" for check in checks))


KINDS: dict[str, Callable[[Design, Drawn], Outcome]] = {
    "accuracy": cover_accuracy,
    "difference": cover_difference,
    "joint": cover_joint,
    "assisted": cover_assisted,
    "judged": cover_judged,
    "class": cover_class,
    "ranking": cover_ranking,
    "anytime": cover_anytime,
    "checks": cover_checks,
}


APART: dict[str, Callable[[Design, np.random.Generator], Outcome]] = {
    "certificate": cover_certificate,
    "misled": cover_misled,
    "panel": cover_panel,
    "parity": cover_parity,
    "winner": cover_winner,
}


def measure_cell(design: Design, draws: int, seed: int) -> Cell:
    """Draw this number of studies of a design, and check their intervals."""
    rng = np.random.default_rng([seed, sum(map(ord, str(design)))])
    return Cell.of(str(design), [outcome for _ in range(draws) for outcome in _cover(design, rng)])


def _cover(design: Design, rng: np.random.Generator) -> list[Outcome]:
    """Draw one study of a design, and check its intervals."""
    if design.kind == "pool":
        return [compare_ends(truth, found) for truth, found in draw_from_pool(design, rng)]
    if design.kind in APART:
        return [APART[design.kind](design, rng)]
    try:
        return [KINDS[design.kind](design, draw(design, rng))]
    except EstimateError:
        return [WITHHELD]


def measure_all(measure: Callable[[T], list[Cell]], tasks: Sequence[T]) -> list[Cell]:
    """Measure all tasks with two processes, and print each result when it is known."""
    found = list[Cell]()
    with get_context("fork").Pool(2) as pool:
        for cells in pool.imap(measure, tasks):
            print(*cells, sep="\n", flush=True)
            found += cells
    return found
