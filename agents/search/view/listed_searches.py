"""List all searches of a study, and describe the state of one search; programs' sources are left out.

The headline of a search is its most reliable estimate. All other numbers are shown with an explanation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from oversight.agents.search.context import SearchContext
from oversight.agents.search.fitness.board import Board
from oversight.agents.search.search_report import a_a, count_spent, report_candidates, report_winner
from oversight.agents.search.setup import open_search
from oversight.agents.search.view.candidate import SearchParts, find_search, finite, share, shorten_text
from oversight.harness import EstimateError
from oversight.harness.config import Study
from oversight.harness.report import SearchedCandidate, SearchedWinner
from oversight.harness.store import SearchProgress, Store
from oversight.harness.types import Estimate, Standing

_TEST = (
    "Accuracy by experts' answers about the test items. No decision of the search used these answers, so "
    "luck in the choice of the winner has not raised this number."
)
_REPORTED = (
    "Accuracy on all items that the choice used, shrunken towards the other candidates. This corrects for "
    "the luck of being the best of many."
)
_LEADING = (
    "No winner is confirmed yet. This is the best candidate so far of those that answered every selection "
    "item, with its score shrunk towards the other candidates' scores; it may still change."
)
_NAIVE = (
    "Accuracy on the selection items, which most searches report. It is too high, because the winner was "
    "chosen for having the highest of many accuracies."
)
_CONFIRMED = (
    "Accuracy on the confirmation items alone. They were new for all finalists, but the best finalist was "
    "chosen on them, so the value is still a little too high, and it has few items."
)
_TRUTH = "Share of the test items on which the winner is right by the key. No estimate here uses the key."
_START = "The workflow that you would use without a search, on the same test items as the winner."
_UNTESTED = (
    "The reason why experts' answers about the test items give no accuracies. They may still give a "
    "difference."
)
_DIFFERENCE = (
    "Accuracy of the winner minus that of the start, on the same test items. Its interval is narrower than "
    "the intervals of the two accuracies suggest, because items that are hard for both cancel out."
)


def headline(
    winner: SearchedWinner | None, candidates: Sequence[SearchedCandidate], scale: str = "accuracy"
) -> dict[str, Any] | None:
    """Return the headline number of a search; None if no candidate has a score.

    `scale` is the scale of scores on the selection items, ``"accuracy"`` or ``"q"``. Numbers from the test
    items are always accuracies.
    """
    if winner is None:
        ahead = [(c, c.standing) for c in candidates if c.standing is not None and not c.raced_out]
        if not ahead:
            return None
        best, standing = max(ahead, key=lambda pair: pair[1].mean)
        ends = (standing.low, standing.high)
        found = _number("leading", "leading so far", _LEADING, standing.mean, ends, scale=scale)
        return {**found, "candidate": best.id, "candidate_name": best.name}
    if winner.test:
        words = f"{_TEST} {winner.reused}." if winner.reused else _TEST
        found = _test(winner.test, "test", "winner, on the test items", words)
    else:
        found = _reported(winner, scale)
    return {**found, "candidate": winner.id, "candidate_name": winner.name}


def other_numbers(winner: SearchedWinner | None, scale: str = "accuracy") -> list[dict[str, Any]]:
    """Return all numbers about a search's winner except the headline, each with an explanation."""
    if winner is None:
        return []
    numbers = [_reported(winner, scale)] if winner.test else []
    if winner.start_test:
        numbers.append(_test(winner.start_test, "start", "start, on the test items", _START))
    if winner.untested:
        said = f"not known: {winner.untested}"
        numbers.append(_number("untested", "accuracies on the test items", _UNTESTED, said=said))
    if winner.difference:
        said = winner.difference
        numbers.append(_number("difference", "difference, on the test items", _DIFFERENCE, said=said))
    if winner.confirmed is not None:
        numbers.append(_number("confirmed", "fresh items alone", _CONFIRMED, winner.confirmed, scale=scale))
    if winner.truth is not None and winner.start_truth is not None:
        numbers.append(_number("truth", "winner, by the opened key", _TRUTH, winner.truth))
        numbers.append(_number("start_truth", "start, by the opened key", _TRUTH, winner.start_truth))
    numbers.append(_number("naive", "uncorrected", _NAIVE, winner.naive, scale=scale))
    return numbers


def _reported(winner: SearchedWinner, scale: str) -> dict[str, Any]:
    name, words = "winner, corrected for being the best of many", _add_doubt(_REPORTED, winner.why)
    return _number("reported", name, words, winner.reported, (winner.low, winner.high), scale=scale)


def _add_doubt(words: str, why: str) -> str:
    return f"{words} The interval may not hold: {why}." if why else words


def _test(found: Estimate, key: str, name: str, words: str) -> dict[str, Any]:
    answers = found.n.ordinary + found.n.complementary
    ends, doubted = (found.low, found.high), _add_doubt(words, found.why)
    return _number(key, name, doubted, found.value, ends, level=found.level, answers=answers)


def _number(
    key: str,
    name: str,
    words: str,
    value: float | None = None,
    ends: tuple[float | None, float | None] = (None, None),
    **more: object,
) -> dict[str, Any]:
    """Return the page's data about a number: its value, interval, name and explanation, and `more`."""
    low, high = (share(end) for end in ends)
    number = {"key": key, "name": name, "value": share(value), "low": low, "high": high}
    return {**number, "scale": "accuracy", "words": words, **more}


_MOST_REFUSED = 200
"""Maximum number of refused proposals that are listed; the total is shown too."""
_NOTE, _NAME = 300, 120
"""Maximum number of characters of a note and of a name in the list; a candidate's page shows both in full."""


def read_searches(study: Study, store: Store, *, id: str = "") -> dict[str, Any]:  # noqa: A002  the name in the address
    """Return all searches of a study, newest first, and the state of the search with this id.

    An empty id selects the newest search.

    Raises
    ------
    BadInput
        If the search does not exist.
    """
    return show_searches(study, store, id)


def show_searches(
    study: Study,
    store: Store,
    name: str = "",
    truth: Mapping[str, int] | None = None,
    context: SearchContext | None = None,
) -> dict[str, Any]:
    """Return all searches, and the state of the search with the id `name`; "" selects the newest.

    `truth` maps item ids to true options; if given, the true accuracies of the winner and the start workflow
    on the test items are included. `context` is the search, if the caller has opened it already.
    """
    known = store.searches.read_progress()
    chosen = find_search(store, name) if known else None
    return {
        "searches": [_listed(search) for search in known],
        "search": None if chosen is None else _shown(study, store, chosen, truth, context),
    }


def _listed(search: SearchProgress) -> dict[str, Any]:
    section: Mapping[str, Any] = search.spec.get("section", {}) if isinstance(search.spec, dict) else {}
    return {
        "id": search.id,
        "created": search.created,
        "policy": str(section.get("policy", "")),
        "proposals": search.proposals,
        "planned": section.get("candidates"),
        "candidates": search.candidates,
        "winner": search.winner,
        "winner_name": search.winner_name,
    }


def _shown(
    study: Study,
    store: Store,
    search: SearchProgress,
    truth: Mapping[str, int] | None,
    context: SearchContext | None,
) -> dict[str, Any]:
    parts = SearchParts()
    if context is None:
        context = parts.attempt("the search", partial(open_search, study, store, search.id), None)
    if context is None:
        return {**_listed(search), "missing": parts.missing}
    board = parts.attempt("accuracies", context.board, None) if context.archive.table.rows else None
    make_rows = partial(report_candidates, context, board)
    scale = "q" if context.estimator == "raw" else "accuracy"
    rows = parts.attempt("candidates", make_rows, list[SearchedCandidate]())
    winner = None
    if "winner" in context.archive.events:
        make_winner = partial(report_winner, study, store, context, board, truth)
        winner = parts.attempt("the winner", make_winner, None)
    slots = context.archive.slots
    refused = [str(slot["refused"]) for slot in slots if "refused" in slot]
    return {
        **_listed(search),
        **_settings(study, context),
        "scale": scale,
        "headline": headline(winner, rows, scale),
        "others": other_numbers(winner, scale),
        "splits": {name: len(items) for name, items in context.archive.splits.items()},
        "spent": parts.attempt("tokens", partial(count_spent, context.archive), dict[str, int]()),
        "power": parts.attempt("what labels can show", context.describe_labels, list[str]()),
        "a_a": parts.attempt("the start against itself", partial(_compared_with_itself, context, board), ""),
        "duplicates": sum("duplicate" in slot for slot in slots),
        "refused": [shorten_text(reason, _NOTE) for reason in refused[:_MOST_REFUSED]],
        "refused_in_all": len(refused),
        "rows": [_row(candidate, scale) for candidate in rows],
        "missing": parts.missing,
    }


def _settings(study: Study, context: SearchContext) -> dict[str, Any]:
    section = context.section
    return {
        "model": section.model or next(iter(study.models), ""),
        "optimiser": section.optimiser if section.policy != "recombine" else "",
        "fitness": context.estimator,
        "start": context.start,
        "start_name": shorten_text(context.programs[0].name, _NAME),
        "settings": section.model_dump(mode="json"),
    }


def _compared_with_itself(context: SearchContext, board: Board | None) -> str:
    try:
        return a_a(context, board)
    except EstimateError as error:
        return f"not checked: {error}"


def _row(candidate: SearchedCandidate, scale: str) -> dict[str, Any]:
    return {
        "id": candidate.id,
        "name": shorten_text(candidate.name, _NAME),
        "parents": list(candidate.parents),
        "op": candidate.op,
        "slot": candidate.slot,
        "note": shorten_text(candidate.note, _NOTE),
        "answers": candidate.answers,
        "on_front": candidate.on_front,
        "raced_out": candidate.raced_out,
        "standing": None if candidate.standing is None else _standing(candidate.standing, scale),
    }


def _standing(s: Standing, scale: str) -> dict[str, Any]:
    return {
        "scale": scale,
        "mean": share(s.mean),
        "low": share(s.low),
        "high": share(s.high),
        "measured": share(s.value),
        "items": s.n_items,
        "p_best": finite(s.p_best),
        "p_better": finite(s.p_better),
        "verdict": s.verdict,
        "tokens": finite(s.tokens),
        "unreadable": finite(s.invalid_rate),
        "failed": finite(s.error_rate),
    }
