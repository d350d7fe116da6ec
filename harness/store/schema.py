"""Create a study's tables, check their version, and begin transactions that exclude each other."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.engines.addresses import show_address
from oversight.harness.store.engines.retrying import ATTEMPT, wait_for_lock
from oversight.harness.store.tables.study_tables import MARK
from oversight.harness.store.tables.table_maker import METADATA

HEAD = "0033"
"""Version of the tables. Raise it with every change in ``tables``; older databases must then be upgraded."""

_ONE_AT_A_TIME = 0x6F76657273  # an arbitrary number that identifies the advisory lock
_HOLDER = (
    "SELECT pid, application_name, client_addr FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = %s"
)
_CHANGED = {"insert": ("NEW",), "update": ("OLD", "NEW"), "delete": ("OLD",)}
"""Names of the rows that a trigger on each event can read."""
_COUNT = """INSERT INTO run_version (run_id, version) {runs}
  ON CONFLICT (run_id) DO UPDATE SET version = run_version.version + 1"""
_WORDS = {
    "sqlite": (
        "CREATE VIRTUAL TABLE item_words USING fts5(words, content='', tokenize='ascii', detail='none')",
        # The buffer has four times its default size, because fewer flushes make indexing faster.
        "INSERT INTO item_words (item_words, rank) VALUES ('hashsize', 4194304)",
    ),
    "postgresql": (
        "CREATE TABLE item_words (position INTEGER PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX ix_item_words_words ON item_words USING gin (words)",
    ),
}


def begin_exclusive(connection: sa.Connection) -> None:
    """Begin a transaction after all other exclusive transactions have ended."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        lock_exclusive(connection)


def begin_snapshot(connection: sa.Connection) -> None:
    """Make all reads of a transaction see one state, even if other processes write meanwhile."""
    is_file = connection.dialect.name == "sqlite"
    connection.exec_driver_sql("BEGIN" if is_file else "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def lock_exclusive(connection: sa.Connection) -> None:
    """Wait until other exclusive transactions end; in SQLite, `BEGIN` has already waited."""
    attempt = sa.select(sa.func.pg_try_advisory_xact_lock(_ONE_AT_A_TIME))
    if connection.dialect.name == "sqlite" or connection.execute(attempt).scalar_one():
        return

    def wait() -> None:
        with connection.begin_nested():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{ATTEMPT}s'")
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
            connection.exec_driver_sql("SET LOCAL lock_timeout TO DEFAULT")

    def name_holder() -> str:
        found = connection.exec_driver_sql(_HOLDER, divmod(_ONE_AT_A_TIME, 2**32)).first()
        return (
            f" (backend {found[0]}, {found[1] or 'no name'}, at {found[2] or 'its machine'})" if found else ""
        )

    wait_for_lock(show_address(str(connection.engine.url)), wait, _is_locked, name_holder)


def _is_locked(error: Exception) -> bool:
    return getattr(getattr(error, "orig", None), "sqlstate", None) == "55P03"  # lock_not_available


def prepare_tables(connection: sa.Connection, shown: str, *, read_only: bool = False) -> None:
    """Create the tables if the database is empty; otherwise check its schema version.

    Other processes that call this function wait until the tables are created.

    Raises
    ------
    StoreError
        If the database contains tables of another program, was written by another version of oversight,
        or is empty and read-only.
    """
    version = read_version(connection, shown)
    if version is None and not read_only:
        connection.rollback()
        begin_exclusive(connection)
        version = read_version(connection, shown)
        if version is None:
            create_tables(connection)
            connection.commit()
            return
    if version == HEAD:
        return
    if version is None:
        raise StoreError(f"{shown}: contains no study, and the file or its folder is read-only")
    if version > HEAD:
        raise StoreError(
            f"{shown}: written by a newer version of oversight (schema {version}, this version knows "
            f"{HEAD}); upgrade oversight"
        )
    raise StoreError(
        f"{shown}: written by an older version of oversight (schema {version}, this version needs {HEAD}); "
        "copy the study into a new database with: oversight store upgrade"
    )


def read_version(connection: sa.Connection, shown: str) -> str | None:
    """Return the schema version of a database; None for an empty database."""
    tables = sa.inspect(connection).get_table_names()
    if "alembic_version" in tables:
        stored = sa.table("alembic_version", sa.column("version_num"))
        return connection.execute(sa.select(stored.c.version_num)).scalar()
    if tables:
        raise StoreError(
            f"{shown}: contains other tables ({', '.join(tables[:3])}); give the study a database of its own"
        )
    return None


def create_tables(connection: sa.Connection) -> None:
    """Create all tables of a study, inside a transaction, in the schema that the connection uses."""
    for table in METADATA.sorted_tables:
        _create(connection, table)
    for statement in _WORDS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    _count_changes(connection)
    connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)")
    connection.exec_driver_sql(f"INSERT INTO alembic_version (version_num) VALUES ('{HEAD}')")  # noqa: S608  fixed
    row = {"id": 0, "database": secrets.token_hex(16), "copied_at": "", "source": "", "moved_to": ""}
    connection.execute(MARK.insert(), [row])


def _create(connection: sa.Connection, table: sa.Table) -> None:
    statement = sa.schema.CreateTable(table)
    # Key columns come first, because columns after a long text are slow to read.
    statement.columns.sort(key=lambda column: not column.element.primary_key)
    connection.execute(statement)
    for index in table.indexes:
        index.create(connection)


def _count_changes(connection: sa.Connection) -> None:
    """Create triggers that count all changes to a run's predictions, including those by other programs."""
    is_file = connection.dialect.name == "sqlite"
    for event, rows in _CHANGED.items():
        trigger = f"run_version_{event}"
        if is_file:
            values = (_COUNT.format(runs=f"VALUES ({row}.run_id, 1)") for row in dict.fromkeys(rows))
            connection.exec_driver_sql(
                f"CREATE TRIGGER {trigger} AFTER {event} ON prediction BEGIN {'; '.join(values)}; END"
            )
            continue
        changed = " UNION ".join(f"SELECT DISTINCT run_id FROM {row}_rows" for row in rows)  # noqa: S608  fixed names
        # A fixed order prevents deadlocks between writers.
        runs = f"SELECT run_id, 1 FROM ({changed}) t ORDER BY run_id"  # noqa: S608
        named = " ".join(f"{row} TABLE AS {row}_rows" for row in rows)
        connection.exec_driver_sql(
            f"CREATE OR REPLACE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {_COUNT.format(runs=runs)}; RETURN NULL; END $$"
        )
        connection.exec_driver_sql(
            f"CREATE TRIGGER {trigger} AFTER {event} ON prediction REFERENCING {named} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {trigger}()"
        )
