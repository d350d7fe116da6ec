"""Data of the page of one candidate: how its source differs from its parent's source, and its answers."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from oversight.harness import BadInput, OversightError, StoreError
from oversight.harness.config import Study
from oversight.harness.output import redact
from oversight.harness.store import SearchProgress, Store, split_into_batches
from oversight.harness.types import Candidate, Item, Prediction, PredictionStatus

T = TypeVar("T")


@dataclass(slots=True)
class SearchParts:
    """Collects the parts of a page that could not be computed.

    Attributes
    ----------
    missing
        Name (``part``) and reason (``why``) of each missing part.
    """

    missing: list[dict[str, str]] = field(default_factory=list)

    def attempt(self, part: str, make: Callable[[], T], otherwise: T) -> T:
        """Return ``make()``. If it raises an error, record the reason, and return `otherwise`."""
        try:
            return make()
        except OversightError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001  somebody may have edited the archive; show the other parts
            reason = _describe_misfit(error)
        self.missing.append({"part": part, "why": reason})
        return otherwise


@contextmanager
def whole_archive() -> Iterator[None]:
    """Turn errors that an inconsistent archive causes within the block into StoreError.

    Raises
    ------
    StoreError
        If the archive is inconsistent, for example because somebody edited the database.
    """
    try:
        yield
    except OversightError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(f"{_describe_misfit(error)}; has the database been edited?") from error


def _describe_misfit(error: Exception) -> str:
    said = " ".join(redact(str(error)).split())
    return f"the archive does not fit together ({type(error).__name__}: {said[:200]})"


def finite(value: float | None) -> float | None:
    """Return a number as a JSON value; None if it is missing or not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def share(value: float | None) -> float | None:
    """Return an accuracy clipped to [0, 1] for display; None if it is missing or not finite."""
    found = finite(value)
    return None if found is None else min(1.0, max(0.0, found))


def shorten_text(text: str, most: int) -> str:
    """Return the first `most` characters of a text, with a note on how many are left out, if any."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


SHOWN_BEFORE = ("feedback", "select")
"""Splits whose items are shown even before a winner is named; other items must not influence the user."""
_SPLITS = (*SHOWN_BEFORE, "confirm", "test")
PAGE, _PORTION = 50, 100
_LINES, _TEXT = 5_000, 160
OUTCOMES = ("confirmed", "refuted", "open", "unreadable", "failed")


def read_candidate(
    study: Study,  # noqa: ARG001  all pages share this signature
    store: Store,
    *,
    id: str,  # noqa: A002  the name in the address
    search: str = "",
    after: str = "",
    only: str = "",
) -> dict[str, Any]:
    """Return the data of one candidate, without its scores, which depend on all candidates.

    Parameters
    ----------
    id
        Id of the candidate.
    search
        Id of the search; empty for the newest.
    after
        Position of the last item on the previous page; empty for the first page.
    only
        One of `OUTCOMES`, to show only items with this outcome; empty for all.

    Raises
    ------
    BadInput
        If the search or candidate does not exist, or a parameter is invalid.
    """
    if only and only not in OUTCOMES:
        raise BadInput(f"only: must be one of {', '.join(OUTCOMES)}, not {only!r}")
    found = find_search(store, search)
    return CandidatePages(store, found).read_page(find_candidate(store, found.id, id), after, only)


class CandidatePages:
    """Pages of the candidates of one search; items and verdicts are read once for all pages.

    Parameters
    ----------
    store, search
        The database, and the current state of the search.
    """

    def __init__(self, store: Store, search: SearchProgress) -> None:
        self._store, self._search = store, search
        self._splits = store.searches.read_splits(search.id)
        # Positions count all items, answered or not, so they do not change when new answers arrive.
        self._ordered = [(split, item) for split in _SPLITS for item in self._splits.get(split, ())]
        self._items: dict[str, Item] = {}
        self._verdicts: dict[str, list[dict[str, str]]] = {}

    def read_page(self, candidate: Candidate, after: str = "", only: str = "") -> dict[str, Any]:
        """Return one page: the candidate, how its source differs from its parent's, and some answered items.

        For `after` and `only` see `read_candidate`.
        """
        family = self._store.searches.read_candidates(self._search.id, candidate.parents)
        names = {c.id: c.program.name for c in family}
        sources = {c.id: c.program.source for c in family}
        before = sources.get(candidate.parents[0]) if candidate.parents else None
        answers = self._store.searches.read_answers(self._search.id, candidate.id)
        return {
            "search": self._search.id,
            "id": candidate.id,
            "name": candidate.program.name,
            "op": candidate.op,
            "slot": candidate.slot,
            "parents": [{"id": parent, "name": names.get(parent, parent)} for parent in candidate.parents],
            "note": candidate.note,
            "thought": candidate.program.thought,
            "won": candidate.id == self._search.winner,
            "parent": candidate.parents[0] if before is not None else None,
            "lines": compare_sources(before, candidate.program.source),
            "answers": self._count_answers(answers),
            "hidden": [split for split in self._splits if not is_shown(self._search, split)],
            "items": self._list_items(answers.get((candidate.id, 0), []), after, only),
        }

    def _count_answers(self, answers: Mapping[tuple[str, int], Sequence[Prediction]]) -> list[dict[str, Any]]:
        """Count answers by status, for each split and replicate, in the order of the splits."""
        split_of = {item: name for name, ids in self._splits.items() for item in ids}
        counts: dict[tuple[str, int], Counter[str]] = {}
        for (_, run), found in sorted(answers.items()):
            for prediction in found:
                where = split_of.get(prediction.item_id, "no split")
                counts.setdefault((where, run), Counter())[_status(prediction)] += 1
        order = [*_SPLITS, *(name for name in self._splits if name not in _SPLITS), "no split"]
        return [
            {
                "split": split,
                "replicate": run,
                "items": len(self._splits.get(split, ())),
                "answers": dict(counts[split, run]),
            }
            for split, run in sorted(counts, key=lambda key: (order.index(key[0]), key[1]))
        ]

    def _list_items(self, answers: Sequence[Prediction], after: str, only: str) -> dict[str, Any]:
        """Return up to `PAGE` answered items after the position `after`."""
        if after and not after.isdecimal():
            raise BadInput(f"after: must be a position among the items, not {after!r}")
        said = {p.item_id: p for p in answers}
        places = [
            (place, split, item)
            for place, (split, item) in enumerate(self._ordered)
            if item in said and is_shown(self._search, split)
        ]
        behind = [x for x in places if x[0] > int(after)] if after else places
        rows = list[dict[str, Any]]()
        for row in self._rows(behind, said):
            if only in ("", row["outcome"]):
                if len(rows) == PAGE:
                    return {"rows": rows, "next": str(rows[-1]["place"]), "in_all": len(places)}
                rows.append(row)
        return {"rows": rows, "next": None, "in_all": len(places)}

    def _rows(
        self, places: Sequence[tuple[int, str, str]], said: Mapping[str, Prediction]
    ) -> Iterator[dict[str, Any]]:
        for portion in split_into_batches(places, _PORTION):
            self._load_items([item for _, _, item in portion if item not in self._items])
            for place, split, name in portion:
                if (item := self._items.get(name)) is not None:
                    told = tell_answer(item, said[name], self._verdicts.get(name, []))
                    yield {"place": place, "split": split, **told}

    def _load_items(self, ids: Sequence[str]) -> None:
        if ids:
            found = self._store.content.find_items(list(ids))
            self._items |= found
            self._verdicts |= read_verdicts(self._store, list(found.values()))


def find_search(store: Store, name: str) -> SearchProgress:
    """Return the search with the id `name`; if `name` is empty, the newest search.

    Raises
    ------
    BadInput
        If the study has no such search.
    """
    known = {search.id: search for search in store.searches.read_progress()}
    if not known:
        raise BadInput("this study has no search yet")
    if name and name not in known:
        raise BadInput(f"there is no search {name!r}; there are: {', '.join(known)}")
    return known[name or next(iter(known))]


def find_candidate(store: Store, search: str, name: str) -> Candidate:
    """Return the candidate with this id; raise BadInput if it does not exist."""
    found = store.searches.read_candidates(search, [name])
    if not found:
        raise BadInput(f"search {search} has no candidate {name!r}")
    return found[0]


def compare_sources(old: str | None, new: str) -> list[dict[str, str]]:
    """Return the lines of two sources, each marked as ``same``, ``added`` or ``removed``.

    If `old` is None, all lines of `new` are ``same``.
    """
    lines = new.splitlines()[:_LINES]
    if old is None:
        return [{"kind": "same", "text": line} for line in lines]
    before, found = old.splitlines()[:_LINES], list[dict[str, str]]()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, lines).get_opcodes():
        if tag == "equal":
            found += [{"kind": "same", "text": line} for line in lines[j1:j2]]
        else:
            found += [{"kind": "removed", "text": line} for line in before[i1:i2]]
            found += [{"kind": "added", "text": line} for line in lines[j1:j2]]
    return found


def _status(prediction: Prediction) -> str:
    if prediction.status is PredictionStatus.FAILED:
        return "failed"
    return "unreadable" if prediction.option is None else "answered"


def is_shown(search: SearchProgress, split: str) -> bool:
    """Return whether the items of a split may be shown now."""
    return split in SHOWN_BEFORE or search.winner is not None


def tell_answer(item: Item, prediction: Prediction, verdicts: list[dict[str, str]]) -> dict[str, Any]:
    """Return a candidate's answer to an item as JSON, together with the experts' verdicts on the item."""
    if not -1 < (prediction.option or 0) < len(item.options):
        told = f"is option {prediction.option}, but the item has only {len(item.options)} options"
        raise StoreError(f"the answer to the item {item.id!r} {told}")
    option = None if prediction.option is None else item.options[prediction.option]
    return {
        "id": item.id,
        "text": shorten_text(item.text, _TEXT),
        "option": option,
        "status": _status(prediction),
        "reason": prediction.reason,
        "outcome": _outcome(option, prediction, verdicts),
        "experts": verdicts,
    }


def _outcome(option: str | None, prediction: Prediction, verdicts: Sequence[Mapping[str, str]]) -> str:
    if (status := _status(prediction)) != "answered":
        return status
    for said in verdicts:  # exactly one option is true, so a yes to another option refutes the answer
        if said["verdict"] == "yes":
            return "confirmed" if said["option"] == option else "refuted"
    no = any(said == {"option": option, "verdict": "no"} for said in verdicts)
    return "refuted" if no else "open"


def read_verdicts(store: Store, items: Sequence[Item]) -> dict[str, list[dict[str, str]]]:
    """Return the experts' verdicts by item id; each verdict has the text of the option it is about."""
    questions = store.content.read_questions_about(items)
    said = store.content.replies.find_values([q.id for q in questions])
    options = {item.id: item.options for item in items}
    found: dict[str, list[dict[str, str]]] = {}
    for q in questions:
        if q.id in said:
            told = {"option": options[q.item_id][q.option], "verdict": said[q.id]}
            found.setdefault(q.item_id, []).append(told)
    return found
