"""A random id of each database, whether it is a copy of another, and where the study was moved to."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    table = op.create_table(
        "database_mark",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("database", sa.String(), nullable=False),
        sa.Column("copied_at", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("moved_to", sa.String(), nullable=False),
    )
    op.bulk_insert(
        table, [{"id": 0, "database": secrets.token_hex(16), "copied_at": "", "source": "", "moved_to": ""}]
    )


def downgrade() -> None:
    op.drop_table("database_mark")
