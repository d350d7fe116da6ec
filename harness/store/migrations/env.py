"""Alembic's entry: run the migrations on the connection that `oversight.harness.store.schema` opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
