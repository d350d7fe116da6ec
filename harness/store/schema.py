"""The schema's version, and how an older database comes up to it."""

from __future__ import annotations

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.engines import ATTEMPT, show_address, wait_for_lock

HEAD = "0030"
"""Version of the tables; raise it with every change in ``tables``, so that older databases are brought up."""

_ONE_AT_A_TIME = 0x6F76657273  # the number of an advisory lock; any would do
_HOLDER = (
    "SELECT pid, application_name, client_addr FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = %s"
)


def begin_exclusive(connection: sa.Connection) -> None:
    """Begin a transaction that waits for others of its kind to end."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        lock_exclusive(connection)


def begin_snapshot(connection: sa.Connection) -> None:
    """Have all that a transaction reads be of one moment, whoever writes meanwhile."""
    is_file = connection.dialect.name == "sqlite"
    connection.exec_driver_sql("BEGIN" if is_file else "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def lock_exclusive(connection: sa.Connection) -> None:
    """Wait, within a transaction, for others of its kind; in SQLite they would not have begun."""
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


def migrate(connection: sa.Connection, shown: str, *, read_only: bool = False) -> None:
    """Create the schema, or bring it up to date; one process does, all others wait for it.

    Raises
    ------
    StoreError
        If the database holds other tables, was written by a newer version, or cannot be brought up to date.
    """
    version = _read_version(connection, shown)
    if version == HEAD:
        return
    if not read_only:
        connection.rollback()
        begin_exclusive(connection)
        version = _read_version(connection, shown)
        if version == HEAD:
            return
    if version is not None and version > HEAD:
        raise StoreError(
            f"{shown}: written by a newer version of oversight (schema {version}, this one knows "
            f"{HEAD}); upgrade oversight"
        )
    if read_only:
        raise StoreError(
            f"{shown}: written by an older version of oversight (schema {version}, this one needs {HEAD}), "
            "and the file or its folder is read-only; copy the study to a folder that you can write to"
        )
    from oversight.harness.store.upgrade import upgrade_tables

    upgrade_tables(connection)
    connection.exec_driver_sql(
        "CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) PRIMARY KEY)"
    )
    connection.exec_driver_sql("DELETE FROM alembic_version")
    connection.exec_driver_sql(f"INSERT INTO alembic_version (version_num) VALUES ('{HEAD}')")  # noqa: S608  fixed
    connection.commit()


def _read_version(connection: sa.Connection, shown: str) -> str | None:
    tables = sa.inspect(connection).get_table_names()
    if "alembic_version" in tables:
        query = sa.text("SELECT version_num FROM alembic_version")
        return connection.execute(query).scalar()
    if tables:
        raise StoreError(f"{shown}: holds other tables ({', '.join(tables[:3])}); give a database of its own")
    return None
