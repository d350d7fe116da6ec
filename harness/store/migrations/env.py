"""Alembic's entry: run the migrations on the connection that `harness.store.schema` opened."""

from alembic import context
from sqlmodel import SQLModel

from harness.store import tables  # noqa: F401  fills SQLModel.metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=SQLModel.metadata)
with context.begin_transaction():
    context.run_migrations()
