"""Confidence and source of predictions, what endpoints can do, batches under way."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("prediction", sa.Column("confidence", sa.Float()))
    op.add_column("prediction", sa.Column("source", sa.String(), nullable=False, server_default="call"))
    op.create_table(
        "probe",
        sa.Column("endpoint", sa.String(), primary_key=True),
        sa.Column("model", sa.String(), primary_key=True),
        sa.Column("feature", sa.String(), primary_key=True),
        sa.Column("offered", sa.Boolean(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
    )
    op.create_table(
        "batch",
        sa.Column("marker", sa.String(), primary_key=True),
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), nullable=False),
        sa.Column("remote_id", sa.String()),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("requests", sa.JSON(), nullable=False),
    )
    op.create_index("ix_batch_run_id", "batch", ["run_id"])


def downgrade() -> None:
    op.drop_table("batch")
    op.drop_table("probe")
    op.drop_column("prediction", "source")
    op.drop_column("prediction", "confidence")
