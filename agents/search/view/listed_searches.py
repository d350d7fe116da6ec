"""All searches of a study, and one of them as it stands; without sources, whose page is each candidate's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from oversight.agents.search.context import SearchContext
from oversight.agents.search.fitness import Board
from oversight.agents.search.search_report import a_a, count_spent, report_candidates, report_winner
from oversight.agents.search.setup import open_search
from oversight.agents.search.view.headline import headline, other_numbers
from oversight.agents.search.view.search_parts import SearchParts, finite, share, shorten_text
from oversight.harness import BadInput, EstimateError
from oversight.harness.config import Study
from oversight.harness.report import SearchedCandidate
from oversight.harness.store import SearchProgress, Store
from oversight.harness.types import Standing

_MOST_REFUSED = 200
"""Refused proposals that are listed; all are counted."""
_NOTE, _NAME = 300, 120
"""Most characters of a note and a name in a list; the candidate's own page has all of it."""


def read_searches(study: Study, store: Store, *, id: str = "") -> dict[str, Any]:  # noqa: A002  as it stands in the address
    """All searches of a study, newest first, and the one of this id as it stands; the newest without one.

    Raises
    ------
    BadInput
        If there is no search of this id.
    """
    return show_searches(study, store, id)


def show_searches(
    study: Study,
    store: Store,
    name: str = "",
    truth: Mapping[str, int] | None = None,
    context: SearchContext | None = None,
) -> dict[str, Any]:
    """The same; with `truth`, by item id, also how winner and start fare by that on the test items.

    `context` is the search of that name, where it was opened before.
    """
    known = store.searches.read_progress()
    chosen = next((search for search in known if search.id == (name or search.id)), None)
    if known and chosen is None:
        raise BadInput(f"there is no search {name!r}; there are: {', '.join(search.id for search in known)}")
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
    slots = [e for key, e in context.archive.events.items() if key.startswith("slot/")]
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
        "seed": context.seed,
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
