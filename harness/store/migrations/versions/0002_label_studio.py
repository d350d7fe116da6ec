"""Queues, tasks, revisions and quarantine of a labelling campaign."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "label_queue",
        sa.Column("expert", sa.String(), primary_key=True),
        sa.Column("marker", sa.String(), nullable=False, unique=True),
        sa.Column("server", sa.String(), nullable=False),
        sa.Column("project_id", sa.Integer()),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("user_id", sa.Integer()),
        sa.Column("cursor", sa.String(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
    )
    queue = sa.ForeignKey("label_queue.expert")
    op.create_table(
        "label_task",
        sa.Column("question_id", sa.String(), sa.ForeignKey("question.id"), primary_key=True),
        sa.Column("expert", sa.String(), queue, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("task_id", sa.Integer()),
        sa.Column("sending", sa.Boolean(), nullable=False),
    )
    op.create_index("ix_label_task_expert", "label_task", ["expert"])
    op.create_table(
        "label_revision",
        sa.Column("expert", sa.String(), sa.ForeignKey("label_queue.expert"), primary_key=True),
        sa.Column("annotation_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("version", sa.String(), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.String()),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("author", sa.Integer()),
        sa.Column("editor", sa.Integer()),
        sa.Column("cancelled", sa.Boolean(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
        sa.Column("seconds", sa.Float()),
    )
    op.create_index("ix_label_revision_position", "label_revision", ["position"])
    op.create_index("ix_label_revision_task_id", "label_revision", ["task_id"])
    op.create_table(
        "label_quarantine",
        sa.Column("expert", sa.String(), sa.ForeignKey("label_queue.expert"), primary_key=True),
        sa.Column("annotation_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.String()),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
    )


def downgrade() -> None:
    for table in ("label_quarantine", "label_revision", "label_task", "label_queue"):
        op.drop_table(table)
