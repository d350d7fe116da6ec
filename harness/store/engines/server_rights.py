"""What a server lets a role do."""

from __future__ import annotations

import sqlalchemy as sa

_QUERY = "SELECT has_table_privilege(current_user, 'item', 'INSERT')"


def may_write(connection: sa.Connection) -> bool:
    """Whether a connection may write a study's tables, which are there; a role of readers may not."""
    if connection.dialect.name == "sqlite":
        return True
    return bool(connection.exec_driver_sql(_QUERY).scalar_one())
