"""Locks of runs, the name under which a run's model answers, and first looks."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_lock",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.String(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
    )
    op.add_column("run", sa.Column("served_as", sa.String()))
    op.add_column("run", sa.Column("sample", sa.JSON()))


def downgrade() -> None:
    op.drop_column("run", "sample")
    op.drop_column("run", "served_as")
    op.drop_table("run_lock")
