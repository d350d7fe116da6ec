"""Write the page as one file that contains its data and sends no requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orjson import Fragment

from oversight.harness.analysis import ItemFilter, ModelOutcome, StudyItems, StudyReport
from oversight.harness.config import Study
from oversight.harness.errors import OversightError
from oversight.harness.output import with_bar
from oversight.harness.platform import write_whole
from oversight.harness.registry import EXPORTED_PARTS, PAGES, load_page
from oversight.harness.store import Store, split_into_batches
from oversight.harness.view.page_parts import make_file
from oversight.harness.view.payload.detail import read_closing, read_strata_of
from oversight.harness.view.payload.items import describe_items
from oversight.harness.view.payload.overview import describe_report, read_differences, read_overview
from oversight.harness.view.payload.panel import read_panel
from oversight.harness.view.payload.progress import read_frame, read_progress
from oversight.harness.web import keep_keys, write_json

_TEXTS = frozenset(
    {
        *("text", "raw", "comment", "detail", "meta", "reason", "note", "thought", "reply", "refused"),
        *("system", "template", "task", "stop", "extra"),
    }
)
"""Names of fields, in any part, with texts of people or models; numbers in these fields are kept."""
_STRATUM = re.compile(r"""stratum (?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
"""The name of a stratum in a sentence, written as by `repr`."""
_MOST_BYTES = 16_000_000
"""Largest total size of the items in a file."""
_AT_A_TIME = 100
"""Number of items that are read in full at once; small, because reading stops when the file is full."""
_OPTIONS = frozenset({"option", "options"})
"""Fields with options; numbers replace their texts if texts are left out and items have own options."""


def write_page(
    study: Study,
    store: Store,
    report: StudyReport | None,
    path: str | Path,
    *,
    texts: bool = True,
) -> Path:
    """Write a study's page atomically, and return its path.

    Parameters
    ----------
    report
        Estimates to show. If None, the page says why no estimates exist.
    texts
        Whether the file contains the models' replies, the experts' comments, the prompts, the items' texts,
        and options that differ between items.
    """
    keep_keys(study)
    frame = read_frame(study, store)
    overview = read_overview(study, store) if report is None else describe_report(report)
    parts = {"frame": frame, "overview": overview, **dict(_read_parts(study, store, frame))}
    items = [] if study.experts.is_panel else _choose_items(store, frame, texts=texts)
    return write_parts(parts, items, path, texts=texts, of=frame["rows"]["item"])


def write_parts(
    parts: Mapping[str, Any],
    items: Sequence[Fragment],
    path: str | Path,
    *,
    texts: bool = True,
    of: int = 0,
    note: str = "",
) -> Path:
    """Write a page from data that was already computed, atomically, and return the page's path.

    Parameters
    ----------
    parts
        Name of each part of the page → the part's data. ``frame`` is required. A name can contain a query, as
        in ``closing?model=a``.
    items
        Items with all details, in the order of their positions. With ``texts=False``, the caller must already
        have removed the items' texts.
    of
        Number of items in the study.
    note
        Note to the reader; by default, it says which items the file contains.
    """
    own_options = _has_own_options(parts["frame"])
    data = {
        "parts": parts if texts else leave_out_texts(parts, own_options=own_options),
        "items": items,
        "note": note or _say_contents(len(items), of, texts=texts),
    }
    return write_whole(make_file(write_json(data)), path)


def leave_out_texts(value: Any, *, own_options: bool = False) -> Any:
    """Return a copy of a value in which every field with texts of people or models is empty.

    Names of strata, which are values of the items' columns, are replaced by numbers; in sentences, by “…”.

    Parameters
    ----------
    own_options
        Whether options differ between items. If so, options can contain texts of the items, and are replaced
        by numbers.
    """
    if isinstance(value, Mapping):
        return {
            key: _without_text(each)
            if key in _TEXTS
            else _number_options(each)
            if own_options and key in _OPTIONS
            else leave_out_texts(each, own_options=own_options)
            for key, each in value.items()
        }
    if isinstance(value, str):
        return _STRATUM.sub("stratum '…'", value)
    if isinstance(value, list | tuple):
        kept = [leave_out_texts(each, own_options=own_options) for each in value]
        return [_number_stratum(each, k) for k, each in enumerate(kept, 1)]
    return value


def _number_stratum(value: Any, number: int) -> Any:
    """Replace the name of a stratum, which is a value of an item's column, by a number."""
    is_stratum = isinstance(value, Mapping) and "stratum" in value
    return {**value, "stratum": f"stratum {number}"} if is_stratum else value


def _without_text(value: Any) -> Any:
    return value if isinstance(value, int | float) else [] if isinstance(value, list | tuple) else None


def _number_options(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [f"option {k}" if isinstance(each, str) else each for k, each in enumerate(value, 1)]
    return None if isinstance(value, str) else value


def _has_own_options(frame: Mapping[str, Any]) -> bool:
    return not frame["classes"]


def _read_parts(study: Study, store: Store, frame: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "progress", read_progress(study, store)
    yield "differences", read_differences(study, store)
    if study.experts.is_panel:
        yield "panel", read_panel(study, store)
    models = frame["models"]
    for model in with_bar(models, "details", "model"):
        yield _key("closing", model=model), read_closing(study, store, model=model)
    yield from _read_strata(study, store, frame)
    for name in PAGES.keys() & {*frame["pages"]}:
        try:
            if name in EXPORTED_PARTS:
                yield from load_page(name, EXPORTED_PARTS)(study, store)
            else:
                yield name, load_page(name)(study, store)
        except OversightError as error:
            yield name, {"why": str(error)}


def _read_strata(study: Study, store: Store, frame: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, data) of the page parts with accuracies by stratum: one part per column and model."""
    newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
    there = {model: store.run_columns.has_answer(newest[model]) for model in frame["models"]}
    together = [model for model, has_answer in there.items() if has_answer]
    apart = [[model] for model, has_answer in there.items() if not has_answer]
    for column in with_bar(frame["columns"], "strata", "column"):
        for models in filter(None, [together, *apart]):
            for model, found in read_strata_of(study, store, models, column).items():
                yield _key("strata", column=column, model=model), found


def _key(name: str, **params: str) -> str:
    from urllib.parse import urlencode

    return f"{name}?{urlencode(sorted(params.items()))}"


def _choose_items(store: Store, frame: Mapping[str, Any], *, texts: bool) -> list[Fragment]:
    """Return as many items as fit into the file, as JSON, in the order of their positions."""
    chosen, size, own_options = list[tuple[int, bytes]](), 0, _has_own_options(frame)
    for place, row in _describe_in_order(store, _order_items(store, frame)):
        kept = row if texts else leave_out_texts(row, own_options=own_options)
        written = write_json({"position": place, **kept})
        size += len(written)
        if size > _MOST_BYTES:
            break
        chosen.append((place, written))
    return [Fragment(written) for _, written in sorted(chosen)]


def _order_items(store: Store, frame: Mapping[str, Any]) -> Iterator[int]:
    """Yield the positions of all items, the most interesting ones first.

    Items with a refuted prediction come first, then items on which models disagree.
    """
    items, models = StudyItems.read(store), tuple(frame["models"])
    wanted = [ItemFilter(outcome=ModelOutcome.REFUTED)] if models else []
    wanted += [ItemFilter(disagreed=models)] if len(models) > 1 else []
    given = set[int]()
    for each in (*wanted, ItemFilter()):
        for place in items.find_items(each).tolist():
            if place not in given:
                given.add(place)
                yield place


def _describe_in_order(store: Store, places: Iterable[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    for portion in split_into_batches(places, _AT_A_TIME):
        ids = store.columns.read_ids(portion)
        rows = describe_items(store, list(ids.values()), full=True)
        for place in portion:
            yield place, rows[ids[place]]


def _say_contents(items: int, of: int, *, texts: bool) -> str:
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if not items:
        return f"Written {when}. This file holds no items and needs no network."
    what = (
        "with their texts, experts' answers and models' replies"
        if texts
        else ("with experts' answers and models' choices, and without texts")
    )
    part = (
        "" if items == of else ": first those that an expert refuted, then those that models disagree about"
    )
    return f"Written {when}. This file holds {items:,} of {of:,} items{part}, {what}. It needs no network."
