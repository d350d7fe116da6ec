"""The schema's version, and how an older database comes up to it."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from harness.errors import StoreError

HEAD = "0008"
"""Newest revision in ``migrations/versions``; a test compares the two."""


def migrate(connection: sa.Connection, shown: str) -> None:
    """Create the schema, or bring it up to date.

    Raises
    ------
    StoreError
        If the database holds other tables, or was written by a newer version.
    """
    tables, version = sa.inspect(connection).get_table_names(), None
    if "alembic_version" in tables:
        version = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    elif tables:
        raise StoreError(f"{shown}: holds other tables ({', '.join(tables[:3])}); give a database of its own")
    if version == HEAD:
        return
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
    command.upgrade(config, "head")
    connection.commit()
