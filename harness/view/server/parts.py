"""Compute the parts of the page; each part is computed once per version of the database."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections import OrderedDict
from collections.abc import Mapping
from weakref import WeakValueDictionary

from oversight.harness.analysis import StudyItems
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, OversightError
from oversight.harness.registry import PAGES, load_page
from oversight.harness.store import Store
from oversight.harness.view.server.live import ChangeFeed
from oversight.harness.web import run_apart, write_json

_MOST_KEPT = 64
_MOST_PAGES = 4
"""Largest number of requests about items that are served at once, each with its own database connection."""
_AT_ONCE = 0.3
"""Seconds that reading the items' columns may delay a request; a longer read runs in the background."""
_PAYLOAD = "oversight.harness.view.payload"
_OWN = {
    "frame": f"{_PAYLOAD}.progress:read_frame",
    "progress": f"{_PAYLOAD}.progress:read_progress",
    "overview": f"{_PAYLOAD}.overview:read_overview",
    "differences": f"{_PAYLOAD}.overview:read_differences",
    "closing": f"{_PAYLOAD}.detail:read_closing",
    "strata": f"{_PAYLOAD}.detail:read_strata",
    "panel": f"{_PAYLOAD}.panel:read_panel",
}
"""Parts that depend only on the study: name → location of the function, imported when it is first used."""
_OF_ITEMS = {name: f"{_PAYLOAD}.items:read_{name}" for name in ("items", "item", "column")}
"""Parts that depend on a filter of items."""
_LIGHT = ("frame", "progress")
"""Parts that are cheap to compute, and therefore do not wait for other parts."""


class Parts:
    """Cache of the page's parts: name and parameters of a part → its data as JSON.

    Parameters
    ----------
    study, store
        The study to show, and its database.
    feed
        Reports changes of the database.
    """

    def __init__(self, study: Study, store: Store, feed: ChangeFeed) -> None:
        self._study, self._store, self._feed = study, store, feed
        self._kept = OrderedDict[tuple[str, ...], tuple[int, bytes]]()
        self._locks = WeakValueDictionary[tuple[str, ...], asyncio.Lock]()
        self._items = _ItemsAsRead(store, feed)
        self._few_at_once = asyncio.Semaphore(_MOST_PAGES)
        self._one_at_a_time = asyncio.Semaphore(1)  # because computing a part takes much memory

    async def read_part(self, name: str, params: Mapping[str, str]) -> bytes:
        """Return a part of the page as JSON.

        Raises
        ------
        BadInput
            If the part does not exist, or its parameters are wrong.
        """
        if name in _OF_ITEMS:
            return await self._read_of_items(name, params)
        key = (name, *(f"{k}={v}" for k, v in sorted(params.items())))
        lock = self._locks.setdefault(key, asyncio.Lock())  # a lock exists while a request holds or awaits it
        async with lock:
            version = self._feed.version
            kept = self._kept.get(key)
            if kept is None or kept[0] != version:
                async with contextlib.nullcontext() if name in _LIGHT else self._one_at_a_time:
                    version = self._feed.version
                    kept = version, await run_apart(make_part, self._study, self._store, name, params)
            self._kept[key] = kept
            self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return kept[1]

    async def _read_of_items(self, name: str, params: Mapping[str, str]) -> bytes:
        async with self._few_at_once:
            items, behind = await self._items.read()
            found = await run_apart(load_page(name, _OF_ITEMS), self._store, items, params)
        return write_json({**found, "behind": behind})

    async def prepare(self) -> None:
        """Read in advance what the page needs first: its first part, and the columns that it filters by."""
        await self._feed.begun()
        await self.read_part("frame", {})
        if not (self._study.experts.is_panel or self._study.is_open):
            items, _ = await self._items.read()
            for column in self._study.items.meta:
                with contextlib.suppress(OversightError):  # a request for the column will report the error
                    await run_apart(items.read_column, column)


class _ItemsAsRead:
    """The items' columns for filters, which can be slightly outdated if reading the columns takes long."""

    def __init__(self, store: Store, feed: ChangeFeed) -> None:
        self._store, self._feed = store, feed
        self._lock = asyncio.Lock()
        self._found: StudyItems | None = None
        self._version, self._took = -1, 0.0
        self._behind: asyncio.Task[None] | None = None

    async def read(self) -> tuple[StudyItems, bool]:
        """Return the items, and whether they are outdated."""
        if self._found is not None and self._version != self._feed.version and self._took > _AT_ONCE:
            if self._behind is None or self._behind.done():
                self._behind = asyncio.create_task(self._refresh())
            return self._found, True
        await self._refresh()
        if self._found is None:
            raise BadInput("the items cannot be read")
        return self._found, False

    def _read(self) -> StudyItems:
        return StudyItems.read(self._store) if self._found is None else self._found.read_again()

    async def _refresh(self) -> None:
        async with self._lock:
            version = self._feed.version
            if self._found is None or self._version != version:
                started = time.monotonic()
                self._found = await run_apart(self._read)
                self._version, self._took = version, time.monotonic() - started


def make_part(study: Study, store: Store, name: str, params: Mapping[str, str]) -> bytes:
    """Return as JSON a part of the page that is computed from the study and its database alone.

    Raises
    ------
    BadInput
        If the part does not exist, or its parameters are wrong.
    """
    if name not in _OWN and name not in PAGES:
        raise BadInput(f"the page has no part {name!r}")
    function = load_page(name, _OWN if name in _OWN else PAGES)
    try:
        inspect.signature(function).bind(study, store, **params)
    except TypeError as error:
        raise BadInput(f"{name}: {error}") from None
    return write_json(function(study, store, **params))
