"""Runs that several processes make together."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _make_runs()
    _make_workers()
    _make_pace()
    op.add_column("reservation", sa.Column("worker", sa.String(), nullable=False, server_default=""))
    op.create_index("ix_reservation_worker", "reservation", ["worker"])


def _make_runs() -> None:
    op.create_table(
        "joint_run",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("taken_usd", sa.Float(), nullable=False),
        sa.Column("taken_tokens", sa.BigInteger(), nullable=False),
        sa.Column("taken_requests", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "joint_part",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("joint_id", sa.String(), sa.ForeignKey("joint_run.id"), nullable=False),
        sa.Column("locked", sa.String(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("next", sa.Integer(), nullable=False),
    )
    op.create_index("ix_joint_part_joint_id", "joint_part", ["joint_id"])


def _make_workers() -> None:
    op.create_table(
        "worker",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("joint_id", sa.String(), sa.ForeignKey("joint_run.id"), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.String(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
        sa.Column("ended", sa.String(), nullable=False),
        sa.Column("writes", sa.Integer(), nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("calls_lost", sa.Integer(), nullable=False),
        sa.Column("granted_usd", sa.Float(), nullable=False),
        sa.Column("granted_tokens", sa.BigInteger(), nullable=False),
        sa.Column("granted_requests", sa.BigInteger(), nullable=False),
        sa.Column("spent_usd", sa.Float(), nullable=False),
        sa.Column("spent_tokens", sa.BigInteger(), nullable=False),
        sa.Column("spent_requests", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_worker_joint_id", "worker", ["joint_id"])
    op.create_table(
        "lease",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("start", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("stop", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("taken_over", sa.Boolean(), nullable=False),
    )
    op.create_index("ix_lease_worker", "lease", ["worker"])
    op.create_table(
        "late_answer",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("item_id", sa.String(), sa.ForeignKey("item.id"), primary_key=True),
        sa.Column("sample", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("worker", sa.String(), primary_key=True),
        sa.Column("option", sa.Integer(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("raw", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
    )


def _make_pace() -> None:
    op.create_table(
        "pace",
        sa.Column("endpoint", sa.String(), primary_key=True),
        sa.Column("model", sa.String(), primary_key=True),
        sa.Column("requests_at", sa.Float(), nullable=False),
        sa.Column("tokens_at", sa.Float(), nullable=False),
    )


def downgrade() -> None:
    op.drop_index("ix_reservation_worker", "reservation")
    op.drop_column("reservation", "worker")
    for table in ("pace", "late_answer", "lease", "worker", "joint_part", "joint_run"):
        op.drop_table(table)
