"""SQL of the full-text index: an FTS5 table in SQLite, or vectors with a GIN index in PostgreSQL.

Both contain the words that `split_words` finds, so a query finds the same items in both. SQLite splits ASCII
texts itself, by the same rule, which is faster.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa

from oversight.harness.arrays import IntArray
from oversight.harness.errors import StoreError
from oversight.harness.store.database import Repository
from oversight.harness.store.serialization import read_json
from oversight.harness.store.tables.study_tables import ITEM

LONGEST_WORD = 64
"""Maximum number of characters of an indexed word; longer words are cut."""
SHORTEST_BEGINNING = 3
"""Minimum length of a query's last word to match as a prefix; shorter prefixes match too many words."""

# Scripts without spaces: Thai and Lao, Burmese, Khmer, kana, Chinese characters
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_ASCII = re.compile("[a-z0-9]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_SCRIPTS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")


def split_words(text: str) -> list[str]:
    """Return the distinct words of a text for the index.

    A word is a run of letters and digits of any script. Case, width and the accents of Latin, Greek and
    Cyrillic letters are ignored. Scripts without spaces between words are split into pairs of neighbouring
    characters. Symbols, for example emoji, are not words.
    """
    if text.isascii():
        return _cut(_ASCII.findall(text.lower()))
    parts = dict.fromkeys(text.split())
    words = _ASCII.findall(" ".join([part for part in parts if part.isascii()]).lower())
    for part in parts:
        if not part.isascii():
            words += _split_part(part) if len(part) <= LONGEST_WORD else _split_part.__wrapped__(part)
    return _cut(words)


@lru_cache(maxsize=1 << 14)  # cached, because most words occur often
def _split_part(part: str) -> list[str]:
    words = list[str]()
    for run in _find_runs(part):
        if _IS_UNSPACED.match(run):
            words += [run[place : place + 2] for place in range(len(run))]
        else:
            words.append(run)
    return words


def _cut(words: list[str]) -> list[str]:
    return list(dict.fromkeys([word[:LONGEST_WORD] for word in words]))


def read_query(text: str) -> dict[str, bool]:
    """Return the words of a query, and for each whether it matches as a prefix.

    The last word matches as a prefix if it has at least three characters. Words that were cut to
    `LONGEST_WORD`, and single characters of scripts without spaces, also match as prefixes.
    """
    words = dict[str, bool]()
    runs = list(_find_runs(text))
    for number, run in enumerate(runs, start=1):
        if _IS_UNSPACED.match(run):
            pairs = [run[place : place + 2] for place in range(max(len(run) - 1, 1))]
            words |= dict.fromkeys(pairs, len(run) == 1)
        else:
            is_last = number == len(runs) and len(run) >= SHORTEST_BEGINNING
            words[run[:LONGEST_WORD]] = is_last or len(run) >= LONGEST_WORD
    return words


def _find_runs(text: str) -> Iterator[str]:
    if text.isascii():
        yield from _ASCII.findall(text.lower())
        return
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold())
    for run in _compile_runs().findall(unicodedata.normalize("NFC", plain).replace("_", " ")):
        if run.isascii():
            yield run
        else:
            yield from _SCRIPTS.findall(run)


@cache
def _compile_runs() -> re.Pattern[str]:
    # Vowels of many scripts are combining marks, which \w does not match.
    marks = [c for c in map(chr, range(0x370, 0x1F000)) if unicodedata.category(c).startswith("M")]
    return re.compile(rf"[\w{''.join(marks)}]+")


_ITEM = ITEM.c
_PORTION, _ROWS = 50_000, 2_000
_MOST_BYTES = 500_000
"""Maximum bytes of an item's words in PostgreSQL, whose vectors are limited to a megabyte."""
_LAST = {"sqlite": "SELECT rowid FROM item_words ORDER BY rowid DESC LIMIT 1"}
_LAST["postgresql"] = "SELECT max(position) FROM item_words"
_ADD_SQLITE = r"""INSERT INTO item_words (rowid, words)
  SELECT position, CASE WHEN length(told) = length(CAST(told AS BLOB)) AND instr(options, '\') = 0
    THEN told ELSE split_item(id, text, options) END
  FROM (SELECT position, id, text, options, id || ' ' || text || ' ' || options AS told FROM item
    WHERE position >= :first AND position < :end ORDER BY position)"""
_ADD_POSTGRESQL = """INSERT INTO item_words (position, words)
  VALUES (:position, array_to_tsvector(string_to_array(:words, ' ')))"""
# All positions are returned as one text, because reading one row per item is slower.
_FIND = {
    "sqlite": "SELECT group_concat(rowid) FROM item_words WHERE item_words MATCH :query",
    "postgresql": "SELECT string_agg(CAST(position AS text), ',') FROM item_words "
    "WHERE words @@ CAST(:query AS tsquery)",
}


class FullTextRepository(Repository):
    """Finds items by the words of their ids, texts and options."""

    def find_items(self, text: str) -> IntArray:
        """Return the positions of the items that contain every word of a text, unordered.

        The last word of the text also matches as a prefix if it has at least three characters. A text without
        words finds nothing. Items without index entries are indexed first, with a progress bar; after an
        interruption, the next search continues.

        Raises
        ------
        StoreError
            If items are not indexed yet and the database cannot be written.
        """
        self._complete()
        words = read_query(text)
        if not words:
            return np.zeros(0, np.int64)
        with self._database.transaction() as connection:
            dialect = connection.dialect.name
            query = _write_query(words, dialect)
            found = connection.execute(sa.text(_FIND[dialect]), {"query": query}).scalar()
        return np.fromstring(found or "", np.int64, sep=",")

    def _complete(self) -> None:
        """Index all items that are not indexed yet, in batches, with one transaction per batch."""
        with self._database.transaction() as connection:
            indexed, stored = _count_indexed(connection), _count_items(connection)
        if indexed == stored:
            return
        if self._database.read_only:
            raise StoreError(
                f"{stored - indexed} items are not in the search index yet, and this command must not write "
                "to the database; search once with write access, or search a copy of the study"
            )
        from tqdm import tqdm

        about = "indexing words (only once)"
        with tqdm(total=stored, initial=indexed, desc=about, unit="item", delay=1, file=sys.stderr) as bar:
            while indexed < stored:
                with self._database.transaction(exclusive=True) as connection:
                    begin = _count_indexed(connection)
                    indexed = min(begin + _PORTION, _count_items(connection))
                    _index(connection, begin, indexed)
                bar.update(indexed - bar.n)


def index_new_words(connection: sa.Connection, first: int) -> None:
    """Index the items at position `first` and later.

    Do nothing if items before `first` are not indexed yet.
    """
    if _count_indexed(connection) == first:
        _index(connection, first, _count_items(connection))


def clear_words(connection: sa.Connection) -> None:
    """Empty the index; the next search indexes all items again."""
    is_file = connection.dialect.name == "sqlite"
    clear = (
        "INSERT INTO item_words (item_words) VALUES ('delete-all')" if is_file else "DELETE FROM item_words"
    )
    connection.exec_driver_sql(clear)


def _count_indexed(connection: sa.Connection) -> int:
    last = connection.exec_driver_sql(_LAST[connection.dialect.name]).scalar()
    return 0 if last is None else int(last) + 1


def _count_items(connection: sa.Connection) -> int:
    last = connection.execute(sa.select(sa.func.max(_ITEM.position))).scalar()
    return 0 if last is None else last + 1


def _index(connection: sa.Connection, first: int, end: int) -> None:
    """Index the items at the positions from `first` to `end` (exclusive)."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.dbapi_connection
        driver.create_function("split_item", 3, _split_item, deterministic=True)
        connection.execute(sa.text(_ADD_SQLITE), {"first": first, "end": end})
        return
    # A larger pending list of the GIN index makes inserting many words faster.
    connection.exec_driver_sql("SET LOCAL gin_pending_list_limit = '64MB'")
    query = sa.select(_ITEM.position, _ITEM.id, _ITEM.text, sa.cast(_ITEM.options, sa.Text))
    for begin in range(first, end, _ROWS):
        rows = connection.execute(query.where(_ITEM.position.between(begin, min(begin + _ROWS, end) - 1)))
        words = [{"position": place, "words": _shorten(_split_item(*told))} for place, *told in rows]
        connection.execute(sa.text(_ADD_POSTGRESQL), words)


def _split_item(name: str, text: str, options: str) -> str:
    return " ".join(split_words(" ".join([name, text, *read_json(options)])))


def _shorten(words: str) -> str:
    if len(words) * 4 <= _MOST_BYTES or len(words.encode()) <= _MOST_BYTES:
        return words
    return words.encode()[:_MOST_BYTES].decode(errors="ignore").rpartition(" ")[0]


def _write_query(words: dict[str, bool], dialect: str) -> str:
    mark, end, both = ('"', "*", " ") if dialect == "sqlite" else ("'", ":*", " & ")
    return both.join(f"{mark}{word}{mark}{end if begins else ''}" for word, begins in words.items())
