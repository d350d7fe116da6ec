"""Report a search from its archive and the current labels, without any model call."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TypeVar

import numpy as np

from oversight.agents.search.confirmation import Winner, decide
from oversight.agents.search.context import SearchContext
from oversight.agents.search.fitness.archive import Archive
from oversight.agents.search.fitness.board import Board
from oversight.agents.search.fitness.empirical_bayes import compare_paired
from oversight.agents.search.fitness.scores import score_items
from oversight.agents.search.item_splits import UNTESTED, AnswerGaps, know_rates
from oversight.agents.search.loop import TWICE
from oversight.agents.search.setup import check_settings
from oversight.agents.standalone import Workflow
from oversight.harness import BadInput, EstimateError
from oversight.harness.analysis import OpenStudy, true_accuracy
from oversight.harness.columns import LabelColumns, PredictionColumns, mark
from oversight.harness.config import Study
from oversight.harness.estimate import accuracy, collected_part, compare, explain_failures
from oversight.harness.output import counted, join_reasons
from oversight.harness.report import SearchedCandidate, SearchedWinner, SearchReport
from oversight.harness.store import Store
from oversight.harness.types import Candidate, Estimate, Item, Prediction, PredictionStatus, Standing

_Bounded = TypeVar("_Bounded", Standing, Winner)


def report_search(
    study: Study, store: Store, context: SearchContext, truth: Mapping[str, int] | None = None
) -> SearchReport:
    """Summarise a search.

    `truth` maps item ids to true options; if given, the report includes the true accuracies of the winner and
    the start workflow on the test items.
    """
    archive, section = context.archive, context.section
    check_settings(section)
    try:
        board: Board | None = context.board()
    except EstimateError:
        board = None  # no candidate has an answer yet
    events = archive.events
    slots = archive.slots
    return SearchReport(
        study=study.study.name,
        id=context.id,
        created=context.created,
        policy=section.policy,
        model=section.model or next(iter(study.models), ""),
        optimiser=section.optimiser if section.policy != "recombine" else "",
        seed=context.seed,
        fitness=context.estimator,
        start=context.programs[0].name,
        splits={name: len(items) for name, items in archive.splits.items()},
        proposals=len(slots),
        planned=section.candidates,
        candidates=_with_tests(study, store, context, report_candidates(context, board, diffs=True)),
        refused=[str(e["refused"]) for e in slots if "refused" in e],
        duplicates=sum("duplicate" in e for e in slots),
        winner=report_winner(study, store, context, board, truth) if "winner" in events else None,
        a_a=a_a(context, board),
        power=[*context.describe_labels(), *_tell_removed(store)],
        spent=count_spent(archive),
        counted=store.searches.read_spent(context.id)[1],
        settings=section.model_dump(),
    )


def export_winner(context: SearchContext) -> Workflow:
    """Return the winner of a search, with its prompt format, roles and examples.

    Raises
    ------
    BadInput
        If the search has no winner yet.
    """
    noted = context.archive.events.get("winner")
    if noted is None:
        raise BadInput(f"search {context.id} has no winner yet; go on with: oversight search resume")
    shared = {item.options for part in context.archive.splits.values() for item in part}
    return Workflow(
        program=context.archive.candidates[str(noted["candidate"])].program,
        options=shared.pop() if len(shared) == 1 else (),
        shape=context.shape,
        roles=context.roles,
        tier=context.section.tier,
        search=context.id,
    )


def a_a(context: SearchContext, board: Board | None) -> str:
    """Return a text on the A/A test, which compares the start workflow with its own second run."""
    items = context.items("select")
    pair = [context.archive.table.options([context.start], items, run) for run in (0, TWICE)]
    if board is None or not context.archive.table.is_there([context.start], items, TWICE).all():
        return "not run yet"
    labels = context.labels["select"]
    first, second = (score_items(y, labels, context.estimator)[0] for y in pair)
    found = compare_paired(second, first, board.shrunk.spread, labels.cluster)
    changed = float((pair[0] != pair[1]).mean())
    gap = f"{100 * found.difference:+z.1f} points ± {100 * found.se:.1f}"
    if board.scale == "q":
        gap = f"q {found.difference:+z.3f} ± {found.se:.3f}"
    return (
        f"the start against itself: {gap}, P(better) "
        f"{found.p_better:.2f}: {found.verdict}; {100 * changed:.0f} % of its answers changed"
    )


def report_candidates(
    context: SearchContext, board: Board | None, *, diffs: bool = False
) -> list[SearchedCandidate]:
    """Return all candidates in archive order; `diffs` adds how each program differs from its parents."""
    archive = context.archive
    fitness = {c: board.standing(c) for c in board.ids} if board else {}
    done = context.find_complete(list(archive.candidates))
    front = pareto({c: standing for c, standing in fitness.items() if c in done})
    answers = archive.table.is_there(list(archive.candidates), archive.splits["select"]).sum(axis=1)
    return [
        SearchedCandidate(
            id=c,
            name=candidate.program.name,
            slot=candidate.slot,
            op=candidate.op,
            parents=candidate.parents,
            note=candidate.note,
            answers=int(number),
            standing=_within(fitness[c], board) if board and c in fitness else None,
            on_front=c in front,
            raced_out=c in fitness and c not in done,
            diff=tuple(_diff(archive, candidate)) if diffs else (),
        )
        for number, (c, candidate) in zip(answers, archive.candidates.items(), strict=True)
    ]


def _within(found: _Bounded, board: Board | None) -> _Bounded:
    """Clip the ends of an interval of accuracies to [0, 1]; an interval on the scale q is not clipped."""
    if board is not None and board.scale == "q":
        return found
    return replace(found, low=min(max(found.low, 0.0), 1.0), high=max(min(found.high, 1.0), 0.0))


def pareto(fitness: Mapping[str, Standing]) -> set[str]:
    """Return the candidates on the Pareto front of a high posterior mean and few tokens."""
    return {
        a
        for a, f in fitness.items()
        if not any(
            g.mean >= f.mean and g.tokens <= f.tokens and (g.mean, g.tokens) != (f.mean, f.tokens)
            for g in fitness.values()
        )
    }


def _diff(archive: Archive, candidate: Candidate) -> list[str]:
    new = candidate.program.source.splitlines()
    if not candidate.parents:
        return new
    old = archive.candidates[candidate.parents[0]].program.source.splitlines()
    return [
        line for line in difflib.unified_diff(old, new, lineterm="", n=2) if line[:3] not in ("---", "+++")
    ]


def report_winner(
    study: Study,
    store: Store,
    context: SearchContext,
    board: Board | None,
    truth: Mapping[str, int] | None = None,
) -> SearchedWinner:
    """Return the results of the named winner with the current labels.

    `truth` maps item ids to true options; if given, true accuracies are included.
    """
    archive, labels = context.archive, OpenStudy(study, store).labels
    whole, gaps = know_rates(labels)
    noted = archive.events["winner"]
    found = _within(decide(context, list(noted["finalists"]), str(noted["candidate"]), board), board)
    items = context.items("test")
    tested = {c: archive.table.predictions(c, items) for c in (found.id, context.start)}
    columns = {c: PredictionColumns.of(p, labels.index) for c, p in tested.items()}
    own = _test_labels(items, whole)
    estimates = [_estimate(predictions, own, gaps) for predictions in columns.values()]
    truths = [true_accuracy(p, truth) if truth is not None and items else None for p in tested.values()]
    told = asdict(found)
    del told["finalists"]
    return SearchedWinner(
        **told,
        name=archive.candidates[found.id].program.name,
        test=estimates[0][0],
        start_test=estimates[-1][0],
        untested="; ".join(dict.fromkeys(why for _, why in estimates if why)) if items else UNTESTED,
        difference=_difference(columns, own, [found for found, _ in estimates]) if items else "",
        truth=truths[0],
        start_truth=truths[-1],
        unanswered=_count_unanswered(tested[found.id], tested[context.start]),
        why=_doubt_winner(archive, found, whole, gaps),
        reused=_count_reuse(store, context.id, items),
        tokens=_tokens_of(board, found.id),
        start_tokens=_tokens_of(board, context.start),
    )


def _count_reuse(store: Store, search: str, items: Sequence[Item]) -> str:
    """Return a text that counts the other searches whose winners were tested on any of these items.

    The text is empty if no other search was tested on them.
    """
    ids, searches = {item.id for item in items}, store.searches
    others = sum(
        not ids.isdisjoint(searches.read_splits(other.id).get("test", ()))
        for other in searches.read_progress()
        if other.id != search and other.winner
    )
    if not others:
        return ""
    told = f"searches of this study that were also tested on these items: {others}"
    return f"{told}; among several winners, the best test result is too high on average"


def _tokens_of(board: Board | None, candidate: str) -> float | None:
    return board.standing(candidate).tokens if board is not None and candidate in board.places else None


def _test_labels(items: Sequence[Item], labels: LabelColumns) -> LabelColumns:
    known = mark(labels.index.find_places(item.id for item in items), labels.index.size)
    return replace(labels.take(np.flatnonzero(known[labels.item])), asked=known)


def _with_tests(
    study: Study, store: Store, context: SearchContext, found: list[SearchedCandidate]
) -> list[SearchedCandidate]:
    """Add an estimate on the test items to every candidate if ``parity`` is set and a winner is named."""
    items = context.items("test")
    if not context.section.parity or "winner" not in context.archive.events or not items:
        return found
    labels, gaps = know_rates(OpenStudy(study, store).labels)
    own = _test_labels(items, labels)
    said = {c.id: context.archive.table.predictions(c.id, items) for c in found}
    return [
        replace(c, test=_estimate(PredictionColumns.of(said[c.id], labels.index), own, gaps)[0])
        if said[c.id]
        else c
        for c in found
    ]


def _count_unanswered(winner: Sequence[Prediction], start: Sequence[Prediction]) -> str:
    told = []
    for name, predictions in (("winner", winner), ("start", start)):
        wrong = sum(p.status.no_option for p in predictions)
        failed = sum(p.status is PredictionStatus.FAILED for p in predictions)
        if wrong or failed:
            told.append(f"{name}: {wrong} without an option (counted as wrong), {failed} failed (left out)")
    return "; ".join(told)


def _estimate(
    predictions: PredictionColumns, labels: LabelColumns, gaps: AnswerGaps
) -> tuple[Estimate | None, str]:
    """Estimate the accuracy on the test items. Returns (estimate, ""), or (None, reason) without an estimate.

    The estimate's `why` names failed checks.
    """
    if lacking := np.unique(labels.item[~predictions.is_there[labels.item]]).size:
        return None, f"test items without an answer: {lacking}; go on with: oversight search resume"
    try:
        found = accuracy(predictions, labels)
    except EstimateError as error:
        return None, str(error)
    missing = gaps.explain(found.clipped, found.low, found.high)
    return replace(found, why=join_reasons(found.why, missing)), ""


def find_failed_checks(predictions: PredictionColumns, labels: LabelColumns) -> str:
    """Return a text that names the estimate's assumptions that failed a check; empty if none failed."""
    try:
        part = collected_part(labels, predictions.is_there)[0]
    except EstimateError as error:
        return str(error)
    return explain_failures(predictions, part, bounded=False)


def _doubt_winner(archive: Archive, winner: Winner, labels: LabelColumns, gaps: AnswerGaps) -> str:
    """Return why the results on selection and confirmation items may be invalid; empty if no check failed."""
    items = (*archive.splits["select"], *archive.splits.get("confirm", ()))
    predictions = PredictionColumns.of(archive.table.predictions(winner.id, items), labels.index)
    failed = find_failed_checks(predictions, _test_labels(items, labels)) if len(predictions) else ""
    missing = gaps.explain(min(1.0, max(0.0, winner.reported)), winner.low, winner.high)
    return join_reasons(failed, missing)


def _difference(
    predictions: Mapping[str, PredictionColumns], labels: LabelColumns, estimates: Sequence[Estimate | None]
) -> str:
    """Describe the difference between the accuracies of the winner and the start on the test items.

    The text states the difference estimated from pairs of answers. If the two accuracies in `estimates` have
    another difference, the text states that difference too.
    """
    if len(predictions) < 2:
        return "the start workflow itself won"
    if not np.logical_and.reduce([p.ran for p in predictions.values()])[labels.item].any():
        return "unknown: no test item has answers of both the winner and the start"
    try:
        (pair,) = compare(predictions, labels).pairs
    except EstimateError as error:
        return f"unknown: {error}"
    points, low, high = (100 * x for x in (pair.difference, pair.low, pair.high))
    found = f"{points:+z.1f} points, 95 % interval {low:+z.1f} to {high:+z.1f} ({pair.items} items)"
    found += ", so " + (
        "it is not decided which is better"
        if low <= 0 <= high
        else f"the winner is {'better' if low > 0 else 'worse'} than the start"
    )
    winner, start = (math.nan if each is None else 100 * each.clipped for each in estimates)
    if f"{winner - start:+z.1f}" not in (f"{points:+z.1f}", "+nan"):
        found += (
            "; this is estimated from pairs of answers, by another estimator than the two accuracies, which "
            f"differ by {winner - start:+z.1f} points"
        )
    return f"{found}; doubtful: {pair.why}" if pair.why else found


def _tell_removed(store: Store) -> list[str]:
    removed = len(store.withdrawals.read_removed())
    return [f"{counted(removed, 'item')} removed from the study; tokens do not count them"] if removed else []


def count_spent(archive: Archive) -> dict[str, int]:
    """Return the number of tokens by split for candidates' answers, and the optimiser's number of tokens.

    A call that several answers share is counted for each answer. Answers about removed items do not count.
    """
    spent = {split: archive.table.sum_tokens(items) for split, items in archive.splits.items()}
    return {**spent, "optimiser": sum(int(str(slot.get("tokens", 0))) for slot in archive.slots)}
