"""Upgrade a study that an older version wrote, by copying it into a new database.

The new database is a file, or a schema on the same server.

The database engine copies the rows in one transaction, so the new database is either complete or absent. The
old database is only read.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.platform import repair_rights
from oversight.harness.store.copying import make_bar
from oversight.harness.store.engines.addresses import (
    address_read_only,
    connect_read_only,
    find_file,
    find_users,
    name_openers,
    read_address,
    show_address,
)
from oversight.harness.store.schema import HEAD, create_tables, read_version
from oversight.harness.store.serialization import describe_failure
from oversight.harness.store.tables.insertion import count_rows
from oversight.harness.store.tables.study_tables import CANDIDATE, MARK
from oversight.harness.store.tables.table_maker import METADATA

_LEFT = {"run_lock", "run_version", "run_columns", "database_mark"}
"""Tables that are not copied: locks of processes, data derived from predictions, and the database's mark."""
_OLD = "older"
"""Schema name under which the old file is attached to the new file's connection."""
_BOOK = """
    INSERT INTO ledger (run_id, kind, item_id, sample, requests, input_tokens, output_tokens, answers)
    SELECT {run}, '{kind}', '', 0, sum(requests), sum(input_tokens), sum(output_tokens), {answers}
    FROM {{old}}.{table} WHERE {run} IN (SELECT id FROM run) GROUP BY {run}
    ON CONFLICT (run_id, kind, item_id, sample) DO UPDATE SET
    requests = ledger.requests + excluded.requests, answers = ledger.answers + excluded.answers,
    input_tokens = ledger.input_tokens + excluded.input_tokens,
    output_tokens = ledger.output_tokens + excluded.output_tokens"""


def _book(table: str, kind: str, *, run: str = "run_id", answers: str = "0") -> str:
    return _BOOK.format(table=table, kind=kind, run=run, answers=answers)


_MERGED = (
    (
        "guessed_usage",
        """UPDATE prediction SET guessed = g.calls FROM {old}.guessed_usage AS g
        WHERE prediction.run_id = g.run_id AND prediction.item_id = g.item_id
        AND prediction.sample = g.sample""",
    ),
    (
        "served_model",
        "UPDATE run SET served_as = s.name FROM {old}.served_model AS s WHERE run.id = s.run_id",
    ),
    (
        "reservation",
        """INSERT INTO ledger (run_id, kind, item_id, sample, requests, input_tokens, output_tokens, answers)
        SELECT run_id, 'reserved', item_id, sample, requests, input_tokens, output_tokens, 1
        FROM {old}.reservation""",
    ),
    ("charge", _book("charge", "charged", answers="sum(answers)")),
    ("spent", _book("spent", "paid")),
    ("calls_under_way", _book("calls_under_way", "under way")),
    ("call_claim", _book("call_claim", "under way", run="work_id")),
)
"""Tables that only older versions have, with the SQL statements that copy their rows to other tables."""


def upgrade_database(url: str, to: str) -> dict[str, int]:
    """Upgrade a study that an older version wrote, by copying its rows into a new database.

    The old database stays unchanged. To use the new database, set ``store`` in study.toml.

    If the process is killed, only a file with the ending ``.unfinished`` is left; the next upgrade replaces
    it.

    Parameters
    ----------
    url
        SQLAlchemy URL of the old database. No process may have it open.
    to
        Path of the new file; for a study on a server, the name of the new schema in the same database.

    Returns
    -------
    dict
        Number of rows by table, for tables with rows.

    Raises
    ------
    StoreError
        If the old database was not written by an older version or is in use, or if `to` exists.
    """
    file, shown = find_file(read_address(url)), show_address(url)
    if file is not None:
        file = shown = str(Path(file).resolve())
    try:
        _refuse_new(url, file, shown)
        if _is_there(file, url, to):
            told = "if an earlier upgrade made it, set `store` in study.toml to this database"
            raise StoreError(f"{to} already exists; {told}; if not, choose another name")
        users = find_users(url) if file is None else name_openers(file)
        if users:
            raise StoreError(f"{shown}: {users}; first stop all commands and pages that use the study")
        if file is None:
            with _open_schema(url, to) as (connection, old):
                return _copy(connection, old, shown)
        if not Path(to).absolute().parent.is_dir():
            raise StoreError(f"{to}: the folder does not exist")
        part = Path(f"{to}.unfinished")
        with _open_file(part, file) as connection:
            rows = _copy(connection, _OLD, shown)
            part.rename(to)
            return rows
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        if "locked" in str(error):
            raise StoreError(f"{shown}: another upgrade to {to} is under way") from error
        raise describe_failure(shown, error, read_only=False) from error


def _refuse_new(url: str, file: str | None, shown: str) -> None:
    """Raise StoreError unless an older version wrote the database."""
    if file is not None and not Path(file).exists():
        raise StoreError(f"{shown}: the database does not exist")
    if file is None:
        engine = sa.create_engine(read_address(url), poolclass=sa.NullPool)
    else:
        engine = sa.create_engine("sqlite://", creator=partial(connect_read_only, file))
    with engine.connect() as connection:
        version = read_version(connection, shown)
    if version is None or version >= HEAD:
        told = "contains no study" if version is None else f"has schema {version}, this version needs {HEAD}"
        raise StoreError(f"{shown}: {told}; there is nothing to upgrade")


def _is_there(file: str | None, url: str, to: str) -> bool:
    if file is not None:
        return Path(to).exists()
    engine = sa.create_engine(read_address(url), poolclass=sa.NullPool)
    with engine.connect() as connection:
        return to in sa.inspect(connection).get_schema_names()


def name_schema(url: str, schema: str) -> str:
    """Return the address of another schema in the same database.

    Examples
    --------
    >>> name_schema("postgresql://db.example.org/ward", "oversight_0030")
    'postgresql://db.example.org/ward?options=-csearch_path%3Doversight_0030'
    """
    address = sa.make_url(url)
    options = str(address.query.get("options", ""))
    kept = re.sub(r"-c *search_path=\S*", "", options).split()
    named = address.update_query_dict({"options": " ".join([*kept, f"-csearch_path={schema}"])})
    return named.render_as_string(hide_password=False)


@contextmanager
def _open_file(new: Path, old: str) -> Iterator[sa.Connection]:
    """Open a new file with the old file attached, in a transaction that excludes other processes."""

    def connect() -> sqlite3.Connection:
        address = f"file:{quote(str(new.absolute()))}"
        made = sqlite3.connect(address, uri=True, isolation_level=None, timeout=0)
        made.execute("PRAGMA locking_mode=EXCLUSIVE")
        made.execute(f"ATTACH ? AS {_OLD}", [address_read_only(old)])
        made.execute("BEGIN EXCLUSIVE")  # also rolls back the writes of an upgrade that was killed
        return made

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool)
    if new.exists():
        with engine.connect() as connection:
            is_whole = bool(sa.inspect(connection).get_table_names())
            if is_whole:  # the old database may have changed since this copy was finished
                new.unlink(missing_ok=True)
    with engine.connect() as connection:
        repair_rights(str(new))
        yield connection


@contextmanager
def _open_schema(url: str, name: str) -> Iterator[tuple[sa.Connection, str]]:
    """Create the schema `name` in a transaction.

    Yields the connection and the name of the old schema, which contains the study.
    """
    engine = sa.create_engine(read_address(url), poolclass=sa.NullPool, isolation_level="REPEATABLE READ")
    with engine.connect() as connection:
        old = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
        connection.execute(sa.schema.CreateSchema(name))
        quoted = connection.dialect.identifier_preparer.quote(name)
        connection.exec_driver_sql(f"SET LOCAL search_path TO {quoted}")
        yield connection, old


def _copy(connection: sa.Connection, old: str, shown: str) -> dict[str, int]:
    """Create the tables, fill them from the old schema, and commit. Returns the number of rows by table."""
    stored = set(sa.inspect(connection).get_table_names(old))
    create_tables(connection)
    tables = [table for table in METADATA.sorted_tables if table.name not in _LEFT]
    number = sum(count_rows(connection, sa.table(name, schema=old)) for name in stored)
    with make_bar(number) as bar:
        for table in tables:
            if table.name in stored:
                for statement in _select_rows(connection, table, old):
                    bar.update(connection.execute(statement).rowcount)
        for source, added in _MERGED:
            if source in stored:
                bar.update(connection.exec_driver_sql(added.format(old=old)).rowcount)
    if "candidate_parent" in stored:
        _add_parents(connection, old)
    if "database_mark" in stored:
        _copy_mark(connection, old)
    rows = {table.name: count_rows(connection, table) for table in tables}
    if connection.dialect.name == "sqlite":  # SQLite did not check foreign keys during the copy
        broken = connection.exec_driver_sql("PRAGMA main.foreign_key_check").first()
        if broken is not None:
            told = f"a row of {broken[0]} refers to a missing row of {broken[2]}"
            raise StoreError(f"{shown}: the database is damaged: {told}")
    connection.commit()
    return {name: number for name, number in rows.items() if number}


def _select_rows(connection: sa.Connection, table: sa.Table, old: str) -> Iterator[sa.Insert]:
    """Yield the SQL that copies the columns which the old and the new table share.

    This is a single statement, or, for the table of predictions, one statement per run.
    """
    known = {column["name"] for column in sa.inspect(connection).get_columns(table.name, old)}
    names = [column.name for column in table.columns if column.name in known]
    source = sa.table(table.name, *map(sa.column, names), schema=old)
    every = sa.select(*source.c)
    parts = [every]
    if table.name == "prediction":
        runs = connection.exec_driver_sql("SELECT id FROM run").scalars().all()
        parts = [every.where(source.c.run_id == run) for run in runs]
    for part in parts:
        yield table.insert().from_select(names, part, include_defaults=False)


def _add_parents(connection: sa.Connection, old: str) -> None:
    """Copy the parents of candidates into the candidate table; older versions had a separate table."""
    names = ("search_id", "child", "parent", "position")
    stored = sa.table("candidate_parent", *map(sa.column, names), schema=old)
    parents = defaultdict[tuple[str, str], list[str]](list)
    for search, child, parent, _ in connection.execute(sa.select(stored).order_by(stored.c.position)):
        parents[search, child].append(parent)
    for (search, child), found in parents.items():
        this = (CANDIDATE.c.search_id == search, CANDIDATE.c.id == child)
        connection.execute(CANDIDATE.update().where(*this).values(parents=found))


def _copy_mark(connection: sa.Connection, old: str) -> None:
    """Copy the old database's `DatabaseMark`, but not its id."""
    stored = sa.table(MARK.name, *map(sa.column, ("copied_at", "source", "moved_to")), schema=old)
    found = connection.execute(sa.select(stored)).mappings().one()
    connection.execute(MARK.update().values(dict(found)))
