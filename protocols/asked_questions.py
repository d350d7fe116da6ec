"""Look up asked questions and their experts, to check answers that come back in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import repeat

from oversight.harness.analysis import digest_source
from oversight.harness.config import Study
from oversight.harness.store import Response, ShownRepository, Store
from oversight.protocols.collect import mark_cells, write_cells, write_options


def text_key(study: Study, store: Store) -> int | None:
    """Return a key that changes with the texts of items; None for a study with few or unknown items.

    The key is derived from the digest of a source with many items, which is stored after its items.
    """
    digest = digest_source(study)
    return int(digest[:8], 16) if digest and ShownRepository(store).has_source(digest) else None


class AskedLookup:
    """Looks up asked questions one by one, or reads all of them when that becomes faster.

    A question that was read with all others is returned from memory only once, because it has one answer.

    Parameters
    ----------
    study
        The study.
    store
        Database of the study.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self._study, self._store = study, store
        self._content, self._controls = store.content, store.controls
        self._shown, self._replies = ShownRepository(store), store.replies(panel=False)
        # A single lookup takes much longer than reading one question among all.
        self._enough, self._looked_up = store.content.count_questions() / 30, 0
        self._experts: dict[str, str] | None = None
        self._marks: dict[str, int] | None = None
        self._wants_marks = False
        self._taken = {name: handed.taker for name, handed in store.people.read_handovers().items()}

    @cached_property
    def key(self) -> int | None:
        """Key that binds the checks in files to the study's texts, as returned by `text_key`."""
        return text_key(self._study, self._store)

    def find_experts(self, ids: Sequence[str]) -> list[str | None]:
        """Return the expert of each question; None if the question was never asked."""
        found = self._find_first(ids)
        return (
            [self._taken.get(i, expert) for i, expert in zip(ids, found, strict=True)]
            if self._taken
            else found
        )

    def _find_first(self, ids: Sequence[str]) -> list[str | None]:
        if self._experts is None and self._looked_up > self._enough:
            self._read_all()
        found: list[str | None] = (
            [None] * len(ids) if self._experts is None else list(map(self._experts.pop, ids, repeat(None)))
        )
        if None in found:
            others = [name for name, expert in zip(ids, found, strict=True) if expert is None]
            self._looked_up += len(others)
            looked_up = self._content.find_experts(others)
            if len(looked_up) < len(others):
                looked_up |= self._controls.find_experts([i for i in others if i not in looked_up])
            found = [expert or looked_up.get(name) for name, expert in zip(ids, found, strict=True)]
        return found

    def find_marks(self, ids: Sequence[str]) -> list[int | None]:
        """Return the mark of each question's shown text; None if the question was never asked."""
        self._wants_marks = True
        read = self._marks or {}
        found = list(map(read.pop, ids, repeat(None)))
        if None in found:
            others = [name for name, mark in zip(ids, found, strict=True) if mark is None]
            looked_up = {name: mark_cells(cells) for name, cells in self.find_cells(others).items()}
            found = [looked_up.get(i) if mark is None else mark for i, mark in zip(ids, found, strict=True)]
        return found

    def find_cells(self, ids: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """Return the shown text by question and column, for questions that were asked."""
        text = self._study.experts.question_text
        return {name: write_cells(*shown, text) for name, shown in self._shown.find_shown(ids).items()}

    def find_said(self, ids: Sequence[str]) -> dict[str, Response]:
        """Return the stored answer by question, for questions that had one at the first lookup."""
        return self._replies.find_replies(ids) if self._is_answered else {}

    @cached_property
    def _is_answered(self) -> bool:
        return any(self._replies.count_replies().values())

    def _read_all(self) -> None:
        if self._wants_marks:
            self._experts, self._marks = self._shown.read_marks(
                partial(write_options, question_text=self._study.experts.question_text)
            )
        else:
            self._experts = self._content.read_experts()
        self._experts |= self._controls.read_experts()
