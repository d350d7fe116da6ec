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
    op.create_table(
        "served_model",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
    )
    op.create_table(
        "first_look",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("of", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("first_look")
    op.drop_table("served_model")
    op.drop_table("run_lock")
