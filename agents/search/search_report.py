"""A search as it stands, from its archive and the labels of the moment; nothing is asked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from agents.search.fitness import Board, Fitness, compare_paired, measure_power, score_items
from agents.search.loop import TWICE, SearchContext, complete, decide
from harness import EstimateError, decode
from harness.config import Study
from harness.estimate import accuracy
from harness.report import CandidateStanding, SearchedCandidate, SearchedWinner, SearchReport
from harness.types import Estimate, Label, Prediction, PredictionStatus

if TYPE_CHECKING:
    from agents.search.archive import Archive, Candidate
    from agents.search.setup import Prepared
    from harness.store import Store


def report_search(
    study: Study, store: Store, prepared: Prepared, created: str, truth: Mapping[str, int] | None = None
) -> SearchReport:
    """Summarise a search; with `truth`, the winner's and the start's true accuracy on the test items."""
    state = idle_state(prepared)
    archive, section = prepared.archive, prepared.section
    try:
        board: Board | None = state.board()
    except EstimateError:
        board = None  # nothing is answered yet
    events = archive.events
    slots = [e for key, e in events.items() if key.startswith("slot/")]
    return SearchReport(
        study=study.study.name,
        id=prepared.id,
        created=created,
        policy=section.policy,
        model=section.model or next(iter(study.models), ""),
        optimiser=section.optimiser if section.policy != "recombine" else "",
        seed=prepared.seed,
        fitness=prepared.settings.fitness,
        start=prepared.programs[0].name,
        splits={name: len(items) for name, items in archive.splits.items()},
        proposals=len(slots),
        planned=section.candidates,
        candidates=_candidates(state, board),
        refused=[str(e["refused"]) for e in slots if "refused" in e],
        duplicates=sum("duplicate" in e for e in slots),
        winner=_winner(state, decode(store.content.read_answers(), store.content.read_questions()), truth)
        if "winner" in events
        else None,
        a_a=a_a(state, board),
        power=measure_power(prepared.labels["select"]).lines(),
        spent=_spent(archive, slots),
        settings=section.model_dump(),
    )


def idle_state(prepared: Prepared) -> SearchContext:
    """State of a search that nothing will be asked in."""
    return SearchContext(
        prepared.archive, prepared.settings, prepared.labels, prepared.programs[0].id, _ask_nothing, _accept
    )


async def _ask_nothing(*_: object) -> Sequence[Prediction]:
    raise AssertionError("an overview asks nothing")


async def _accept(*_: object) -> str:
    return ""


def a_a(state: SearchContext, board: Board | None) -> str:
    """How the gate sees the start against its own second run."""
    items = state.items("select")
    pair = [state.archive.matrix([state.start], items, run) for run in (0, TWICE)]
    if board is None or state.archive.missing(state.start, TWICE, items):
        return "not run yet"
    labels = state.labels["select"]
    first, second = (score_items(y, labels, state.settings.fitness)[0] for y in pair)
    found = compare_paired(second, first, board.shrunk.spread)
    changed = float((pair[0] != pair[1]).mean())
    return (
        f"the start against itself: {100 * found.difference:+.1f} points ± {100 * found.se:.1f}, P(better) "
        f"{found.p_better:.2f}: {found.verdict}; {100 * changed:.0f} % of its answers changed"
    )


def _candidates(state: SearchContext, board: Board | None) -> list[SearchedCandidate]:
    archive = state.archive
    done = {c for c in archive.candidates if complete(state, c)}
    front = pareto({c: board.fitness[c] for c in board.ids if c in done}) if board else set()
    return [_candidate(archive, c, board, front, done) for c in archive.candidates.values()]


def pareto(fitness: Mapping[str, Fitness]) -> set[str]:
    """Candidates that no other is better than at no more tokens."""
    return {
        a
        for a, f in fitness.items()
        if not any(
            g.mean >= f.mean and g.tokens <= f.tokens and (g.mean, g.tokens) != (f.mean, f.tokens)
            for g in fitness.values()
        )
    }


def _candidate(
    archive: Archive, candidate: Candidate, board: Board | None, front: set[str], done: set[str]
) -> SearchedCandidate:
    f = board.fitness.get(candidate.id) if board else None
    against = f.parent if f else None
    standing = None
    if f is not None:
        standing = CandidateStanding(
            n_items=f.n_items,
            value=f.value,
            mean=f.mean,
            sd=f.sd,
            low=f.low,
            high=f.high,
            p_best=f.p_best,
            p_better=against.p_better if against else None,
            verdict=against.verdict if against else None,
            tokens=f.tokens,
            invalid_rate=f.invalid_rate,
            error_rate=f.error_rate,
        )
    return SearchedCandidate(
        id=candidate.id,
        name=candidate.program.name,
        slot=candidate.slot,
        op=candidate.op,
        parents=candidate.parents,
        note=candidate.note,
        answers=len(archive.predictions(candidate.id, archive.splits["select"])),
        standing=standing,
        on_front=candidate.id in front,
        raced_out=f is not None and candidate.id not in done,
        diff=tuple(_diff(archive, candidate)),
    )


def _diff(archive: Archive, candidate: Candidate) -> list[str]:
    new = candidate.program.source.splitlines()
    if not candidate.parents:
        return new
    old = archive.candidates[candidate.parents[0]].program.source.splitlines()
    return [
        line for line in difflib.unified_diff(old, new, lineterm="", n=2) if line[:3] not in ("---", "+++")
    ]


def _winner(state: SearchContext, labels: Sequence[Label], truth: Mapping[str, int] | None) -> SearchedWinner:
    archive = state.archive
    noted = archive.events["winner"]
    found = decide(state, list(noted["finalists"]), str(noted["candidate"]))
    items = state.items("test")
    tested = {c: archive.predictions(c, items) for c in (found.id, state.start)}
    known = {item.id for item in items}
    own = [x for x in labels if x.item_id in known]
    estimates = [_estimate(predictions, own) for predictions in tested.values()]
    truths: list[float | None] = [None, None]
    if truth is not None and items:
        truths = [_true_accuracy(predictions, truth) for predictions in tested.values()]
    return SearchedWinner(
        id=found.id,
        name=archive.candidates[found.id].program.name,
        naive=found.naive,
        reported=found.reported,
        sd=found.sd,
        confirmed=found.confirmed,
        test=estimates[0],
        start_test=estimates[-1],
        difference=_difference(state, found.id),
        truth=truths[0],
        start_truth=truths[-1],
    )


def _estimate(predictions: Sequence[Prediction], labels: Sequence[Label]) -> Estimate | None:
    try:
        return accuracy(predictions, labels)
    except EstimateError:
        return None  # routed labels, or none at all: the paired difference below says what there is


def _difference(state: SearchContext, winner: str) -> str:
    items = state.items("test")
    if not items or winner == state.start:
        return "the start itself won" if winner == state.start else ""
    pair = [winner, state.start]
    scores = score_items(state.archive.matrix(pair, items), state.labels["test"], state.settings.fitness)
    found = compare_paired(scores[0], scores[1], 1.0)
    half = 1.96 * found.se
    return (
        f"{100 * found.difference:+.1f} points, 95 % interval {100 * (found.difference - half):+.1f} to "
        f"{100 * (found.difference + half):+.1f} ({found.n} items)"
    )


def _true_accuracy(predictions: Sequence[Prediction], truth: Mapping[str, int]) -> float | None:
    answered = [p for p in predictions if p.status is not PredictionStatus.FAILED]
    return float(np.mean([p.option == truth[p.item_id] for p in answered])) if answered else None


def _spent(archive: Archive, slots: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Tokens of the stored answers by split (a shared call counts for each), and of the proposer."""
    split = {item.id: name for name, items in archive.splits.items() for item in items}
    spent = dict.fromkeys(archive.splits, 0)
    for found in archive.answers.values():
        for p in found.values():
            spent[split[p.item_id]] += p.input_tokens + p.output_tokens
    return {**spent, "optimiser": sum(int(str(s.get("tokens", 0))) for s in slots)}
