"""SQL of an index of words: a table of FTS5 in SQLite, vectors with a GIN index in PostgreSQL.

Both contain words made by `split_words`, so a query finds the same items in both. SQLite splits plain texts
itself, which is faster, by the same rule.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import sqlalchemy as sa

from oversight.harness.arrays import IntArray
from oversight.harness.errors import StoreError
from oversight.harness.store.database import Repository
from oversight.harness.store.stored_values import read_json
from oversight.harness.store.tables import ItemRow
from oversight.harness.store.words.splitting import read_query, split_words

_ITEM = ItemRow.__table__.c
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
# Return all positions as one text, because reading rows is slower.
_FIND = {
    "sqlite": "SELECT group_concat(rowid) FROM item_words WHERE item_words MATCH :query",
    "postgresql": "SELECT string_agg(CAST(position AS text), ',') FROM item_words "
    "WHERE words @@ CAST(:query AS tsquery)",
}


class WordRepository(Repository):
    """Finds items by the words of their ids, texts and options."""

    def find_items(self, text: str) -> IntArray:
        """Return the positions of the items that contain every word of a text, unordered.

        The text is plain text. Its last word may be the beginning of a word, from three characters on. A text
        without words finds nothing. Items of an older study are indexed first, with a progress bar; after an
        interruption the next search continues.

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
        """Index the items of an older study in portions, each in one transaction."""
        with self._database.transaction() as connection:
            indexed, stored = _count_indexed(connection), _count_items(connection)
        if indexed == stored:
            return
        if self._database.read_only:
            raise StoreError(
                f"the words of {stored - indexed} items are not indexed yet, and the database can only be "
                "read here; let somebody with write access search first, or copy the study"
            )
        from tqdm import tqdm

        about = "indexing words, once"
        with tqdm(total=stored, initial=indexed, desc=about, unit="item", delay=1, file=sys.stderr) as bar:
            while indexed < stored:
                with self._database.transaction(exclusive=True) as connection:
                    begin = _count_indexed(connection)
                    indexed = min(begin + _PORTION, _count_items(connection))
                    _index(connection, begin, indexed)
                bar.update(indexed - bar.n)


def index_new_words(connection: sa.Connection, first: int) -> None:
    """Index the items from a position on, unless earlier items still wait for the first search."""
    if _count_indexed(connection) == first:
        _index(connection, first, _count_items(connection))


def clear_words(connection: sa.Connection) -> None:
    """Remove all words; the next search indexes the items again."""
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
    """Index the items between two positions, in the order of the index."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.dbapi_connection
        driver.create_function("split_item", 3, _split_item, deterministic=True)
        connection.execute(sa.text(_ADD_SQLITE), {"first": first, "end": end})
        return
    # Sorting many words into the index at once is faster.
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
    if dialect == "sqlite":
        return " ".join(f'"{word}"{"*" if begins else ""}' for word, begins in words.items())
    return " & ".join(f"'{word}'{':*' if begins else ''}" for word, begins in words.items())
