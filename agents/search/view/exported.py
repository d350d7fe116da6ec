"""Parts of an exported search page: all candidates, and calls of the winner and the start workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any
from urllib.parse import urlencode

import orjson

from oversight.agents.runtime import Replay, name_model, replay_program
from oversight.agents.sandbox import Sandbox, open_sandbox
from oversight.agents.search.context import SearchContext
from oversight.agents.search.setup import open_search, read_format
from oversight.agents.search.view.candidate import (
    CandidatePages,
    SearchParts,
    find_candidate,
    find_search,
    is_shown,
    read_verdicts,
    shorten_text,
    tell_answer,
)
from oversight.agents.search.view.listed_searches import show_searches
from oversight.harness import BadInput
from oversight.harness.config import ModelSection, SearchSection, Study
from oversight.harness.llm import run_in_loop
from oversight.harness.store import SearchProgress, Store
from oversight.harness.types import Candidate, Item, Prediction

_SECONDS = 30.0
"""Maximum duration of a replay, in seconds."""
_TEXT = 20_000
"""Maximum number of characters of a message or reply."""


def read_candidate_item(
    study: Study,  # noqa: ARG001  every page is read so
    store: Store,
    *,
    id: str,  # noqa: A002  the name in the address
    item: str,
    search: str = "",
    replicate: str = "0",
) -> dict[str, Any]:
    """Return a candidate's calls and replies on an item, and its answer.

    Calls are not stored by candidate. So the candidate's program runs again in the sandbox, and stored
    replies answer the program's calls. If a reply is not stored, the replay ends with a remark.

    Raises
    ------
    BadInput
        If the search, candidate, item or answer does not exist, or the item may not be shown yet.
    """
    if not replicate.isdecimal():
        raise BadInput(f"replicate: must be a whole number, not {replicate!r}")
    found = find_search(store, search)
    candidate = find_candidate(store, found.id, id)
    split = next((s for s, ids in store.searches.read_splits(found.id).items() if item in ids), None)
    asked = store.content.find_items([item]).get(item)
    if split is None or asked is None:
        raise BadInput(f"search {found.id} has no item {item!r}")
    if not is_shown(found, split):
        raise BadInput(f"items of the split {split!r} are shown only after a winner is named")
    told = tell_items(store, found, candidate, {item: split}, int(replicate))
    if item not in told:
        raise BadInput(f"candidate {id} has no answer to {item!r}")
    return told[item]


def tell_items(
    store: Store,
    search: SearchProgress,
    candidate: Candidate,
    splits: Mapping[str, str],
    replicate: int = 0,
) -> dict[str, dict[str, Any]]:
    """Return the data of `read_candidate_item` by item id, for the items that the candidate answered.

    All replays share one sandbox.

    Parameters
    ----------
    splits
        Item id → name of the item's split.
    """
    answers = store.searches.read_answers(search.id, candidate.id).get((candidate.id, replicate), [])
    stored = {p.item_id: p for p in answers if p.item_id in splits}
    items = list(store.content.find_items(list(stored)).values())
    verdicts, parts = read_verdicts(store, items), SearchParts()
    again = partial(_replay, store, search, candidate, items, replicate)
    none: Sequence[Replay | BaseException] = [Replay()] * len(items)
    runs = parts.attempt("the calls", again, none)
    found = {}
    for item, run in zip(items, runs, strict=True):
        own = SearchParts([*parts.missing])
        told = own.attempt("the calls", partial(_unless_failed, run), Replay())
        answer = stored[item.id]
        found[item.id] = {
            "search": search.id,
            "id": candidate.id,
            "name": candidate.program.name,
            "split": splits[item.id],
            "replicate": replicate,
            "item": {"id": item.id, "text": shorten_text(item.text, _TEXT), "options": list(item.options)},
            "answer": tell_answer(item, answer, verdicts.get(item.id, [])),
            "raw": shorten_text(answer.raw, _TEXT),
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
            **_tell(told, answer),
            "missing": own.missing,
        }
    return found


def _replay(
    store: Store, search: SearchProgress, candidate: Candidate, items: Sequence[Item], replicate: int
) -> Sequence[Replay | BaseException]:
    """Replay the candidate on each item. Returns, per item, the replay or the error that ended it."""
    section = SearchSection.model_validate(search.spec["section"])
    shape, roles = read_format(search.spec)
    model = name_model(ModelSection.model_validate(search.spec["model"]))

    async def run(item: Item, sandbox: Sandbox) -> Replay:
        try:
            async with asyncio.timeout(_SECONDS):
                return await replay_program(
                    candidate.program,
                    item,
                    model,
                    store,
                    sandbox=sandbox,
                    roles=roles,
                    shape=shape,
                    replicate=replicate,
                )
        except TimeoutError:
            return Replay(ended=f"the program ran for more than {_SECONDS:g} seconds")

    async def run_all() -> Sequence[Replay | BaseException]:
        async with open_sandbox(section.tier) as sandbox:
            return await asyncio.gather(*(run(item, sandbox) for item in items), return_exceptions=True)

    return run_in_loop(run_all())


def _unless_failed(run: Replay | BaseException) -> Replay:
    if isinstance(run, BaseException):
        raise run
    return run


def _tell(told: Replay, stored: Prediction) -> dict[str, Any]:
    again = told.prediction
    return {
        "calls": [
            {
                **asdict(call),
                "messages": [{"role": m.role, "text": shorten_text(m.content, _TEXT)} for m in call.messages],
                "reply": shorten_text(call.reply, _TEXT),
            }
            for call in told.calls
        ],
        "ended": told.ended,
        "reason_again": "" if again is None else again.reason,
        "is_same": None if again is None else (again.option, again.status) == (stored.option, stored.status),
    }


_ITEMS_TOLD = 10
"""Number of items whose calls are included, both for the winner and for the start workflow."""
_MOST_BYTES = 16_000_000


def read_exported_parts(
    study: Study,
    store: Store,
    search: str = "",
    truth: Mapping[str, int] | None = None,
    most_bytes: int = _MOST_BYTES,
    context: SearchContext | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield name and payload of each part of a search's page; the name includes the request's query.

    Parameters
    ----------
    search
        Id of the search; empty for the newest.
    truth
        Item id → true option, for the true accuracies of the winner and the start workflow.
    most_bytes
        Maximum size of all candidates together, in bytes. The best candidates come first, and the page shows
        how many are included.
    context
        The search, if the caller has opened it already.

    Raises
    ------
    BadInput
        If the search does not exist.
    """
    parts = SearchParts()
    if context is None and store.searches.read_searches():
        context = parts.attempt("the search", partial(open_search, study, store, search or None), None)
    found = show_searches(study, store, search, truth, context)
    yield "search", found
    shown = found["search"]
    if shown is None or context is None:
        return
    progress, own = find_search(store, shown["id"]), context.archive.candidates
    pages = CandidatePages(store, progress)
    rows = sorted(shown.get("rows", ()), key=_rank)
    told = {shown["winner"], shown.get("start")} - {None}
    shown["held"], size = 0, 0
    for row in rows:
        asked = {"id": row["id"], "search": shown["id"]}
        candidate = pages.read_page(own[row["id"]])
        size += len(orjson.dumps(candidate))
        if size > most_bytes:
            return
        shown["held"] += 1
        if row["id"] in told:
            first = {item["id"]: item for item in candidate["items"]["rows"][:_ITEMS_TOLD]}
            splits = {name: item["split"] for name, item in first.items()}
            for name, page in tell_items(store, progress, own[row["id"]], splits).items():
                yield _key("candidate-item", **asked, item=name), page
                first[name]["is_kept"] = True
        yield _key("candidate", **asked), candidate


def _rank(row: dict[str, Any]) -> float:
    return -row["standing"]["mean"] if row["standing"] else 1.0


def _key(name: str, **params: str) -> str:
    return f"{name}?{urlencode(sorted(params.items()))}"
