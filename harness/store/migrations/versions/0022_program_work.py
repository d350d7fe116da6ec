"""Programs that several processes run together."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "program_work",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("joint_id", sa.String(), sa.ForeignKey("joint_run.id"), nullable=False),
        sa.Column("leader", sa.String(), nullable=False),
    )
    op.create_index("ix_program_work_joint_id", "program_work", ["joint_id"])
    op.create_table(
        "program_portion",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("work_id", sa.String(), sa.ForeignKey("program_work.id"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("task", sa.JSON(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("found", sa.JSON(), nullable=True),
    )
    op.create_index("ix_program_portion_work_id", "program_portion", ["work_id"])
    op.create_index("ix_program_portion_worker", "program_portion", ["worker"])
    op.create_table(
        "call_claim",
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("work_id", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("usd", sa.Float(), nullable=False),
    )
    op.create_index("ix_call_claim_worker", "call_claim", ["worker"])


def downgrade() -> None:
    for table in ("call_claim", "program_portion", "program_work"):
        op.drop_table(table)
