"""Opening a study's database: connection settings, schema version, migration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import sqlalchemy as sa

from harness.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

HEAD = "0006"
"""Newest revision in ``migrations/versions``; a test compares the two."""


def open_engine(url: str) -> Engine:
    """Connect to a database, create or migrate its schema, and return the engine.

    SQLite runs in WAL mode with foreign keys on; closing the last connection folds the log back
    into the one file, so that a study can be copied as a file when nothing runs.

    Raises
    ------
    StoreError
        If it cannot be opened, is no such database, or was written by a newer version.
    """
    shown = url.removeprefix("sqlite:///")
    if not url.startswith("sqlite"):
        shown = sa.make_url(url).render_as_string(hide_password=True)
    try:
        engine = sa.create_engine(url, json_deserializer=orjson.loads)
    except (sa.exc.ArgumentError, ImportError) as error:
        raise StoreError(f"{shown}: the database cannot be used: {error}") from error
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _sqlite_settings)
    try:
        with engine.connect() as connection:
            version = _version(connection)
            if version != HEAD:
                _migrate(connection, version, shown)
    except sa.exc.SQLAlchemyError as error:
        engine.dispose()
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise StoreError(f"{shown}: the database cannot be used: {reason}") from error
    except StoreError:
        engine.dispose()
        raise
    return engine


def _sqlite_settings(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _version(connection: Connection) -> str | None:
    """Return the schema's revision; None for an empty database."""
    names = sa.inspect(connection).get_table_names()
    if "alembic_version" in names:
        row = connection.execute(sa.text("SELECT version_num FROM alembic_version")).first()
        return str(row[0]) if row else None
    return None


def _migrate(connection: Connection, version: str | None, shown: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if version is not None and version not in known:
        raise StoreError(
            f"{shown}: written by a newer version of oversight (schema {version}, this one knows "
            f"{HEAD}); upgrade oversight"
        )
    tables = sa.inspect(connection).get_table_names()
    if version is None and tables and "alembic_version" not in tables:
        raise StoreError(f"{shown}: holds other tables ({', '.join(tables[:3])}); give a database of its own")
    command.upgrade(config, "head")
    connection.commit()
