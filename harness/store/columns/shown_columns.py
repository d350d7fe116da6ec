"""SQL of the texts that a question shows to experts: item and option."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from oversight.harness.store.controls.control_questions import ControlRepository
from oversight.harness.store.database import Repository
from oversight.harness.store.serialization import read_json
from oversight.harness.store.study_content import ContentRepository
from oversight.harness.store.tables.study_tables import (
    CONTROL,
    ITEM,
    ITEM_SOURCE,
    QUESTION,
)
from oversight.harness.types import Item

_ASKED = (QUESTION.c, CONTROL.c)

WriteShown = Callable[[tuple[str, ...], tuple[int, ...]], tuple[str, Sequence[str]]]
"""Maps options and their permutation to the text that lists the options, and to each option's question."""


class ShownRepository(Repository):
    """Reads the texts that questions and control questions show."""

    def find_shown(self, ids: Collection[str]) -> dict[str, tuple[Item, int]]:
        """Return (item, option number) of each given question, by question id; omit unknown ids."""
        asked = dict[str, tuple[str, int]]()
        for t in _ASKED:
            query = sa.select(t.id, t.item_id, t.option).where(self._database.among(t.id, ids))
            asked |= {name: (item, option) for name, item, option in self._database.read_tuples(query)}
        about = {item for item, _ in asked.values()}
        items = ContentRepository(self._database).find_items(about)
        if len(items) < len(about):
            items = ControlRepository(self._database).find_gold(about) | items
        return {name: (items[item], option) for name, (item, option) in asked.items()}

    def has_source(self, digest: str) -> bool:
        """Whether all items of the source with this digest were stored.

        If so, the stored texts are those of the source.
        """
        return self._database.has_rows(ITEM_SOURCE, ITEM_SOURCE.c.digest == digest)

    def read_marks(self, write: WriteShown) -> tuple[dict[str, str], dict[str, int]]:
        """Return two dictionaries by question id: the expert, and a hash of the texts that the expert sees.

        The hashes are computed as in `mark_shown` and need less memory than the texts.
        """
        marked, t = dict[str, tuple[int, tuple[str, Sequence[str]]]](), _ASKED[0]
        for names, marks in self._iterate_items(write):
            marked.update(zip(names, marks, strict=True))
        experts, found = dict[str, str](), dict[str, int]()
        query = sa.select(t.id, t.expert, t.item_id, t.option)
        for ids, people, items, options in self._database.read_portions(query):
            about = zip(map(marked.__getitem__, items), options, strict=True)
            experts.update(zip(ids, people, strict=True))
            marks = [hash((text, shown, asked[option])) for (text, (shown, asked)), option in about]
            found.update(zip(ids, marks, strict=True))
        return experts, found

    def _iterate_items(self, write: WriteShown) -> Iterator[tuple[Sequence[str], Any]]:
        """Yield batches of items: the ids, and one pair per item.

        The pair contains the hash of the item's text, and the result of `write` for its options.
        """

        @lru_cache(maxsize=4096)  # cached, because many items have the same options and permutation
        def write_json(options: str, permutation: str) -> tuple[str, Sequence[str]]:
            return write(tuple(read_json(options)), tuple(read_json(permutation)))

        json = (sa.cast(column, sa.Text) for column in (ITEM.c.options, ITEM.c.permutation))
        query = sa.select(ITEM.c.id, ITEM.c.text, *json)
        with self._database.reading():
            for names, texts, options, permutations in self._database.read_portions(query):
                yield names, zip(map(hash, texts), map(write_json, options, permutations), strict=True)


def mark_shown(texts: Sequence[str], options: Sequence[str], questions: Sequence[str]) -> list[int]:
    """Return one hash per question of its three shown texts: item text, options and question.

    The hashes are valid only in this process.
    """
    return list(map(hash, zip(map(hash, texts), options, questions, strict=True)))
