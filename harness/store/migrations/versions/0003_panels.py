"""Assignments and ratings of panels; queues hold either questions or assignments."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "assignment",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("item_id", sa.String(), sa.ForeignKey("item.id"), nullable=False),
        sa.Column("annotator", sa.String(), nullable=False),
        sa.Column("propensity", sa.Float(), nullable=False),
        sa.Column("protocol", sa.String(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("item_id", "annotator", name="uq_assignment_given_once"),
    )
    op.create_index("ix_assignment_item_id", "assignment", ["item_id"])
    op.create_index("ix_assignment_annotator", "assignment", ["annotator"])
    op.create_table(
        "rating",
        sa.Column("assignment_id", sa.String(), sa.ForeignKey("assignment.id"), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("expert", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
    )
    op.create_index("ix_rating_position", "rating", ["position"])
    _tasks()


def downgrade() -> None:
    op.execute("DELETE FROM label_task WHERE question_id IN (SELECT id FROM assignment)")
    _tasks(sa.ForeignKey("question.id"))
    for table in ("rating", "assignment"):
        op.drop_table(table)


def _tasks(*points_to: sa.ForeignKey) -> None:
    """Make the table anew: SQLite cannot change a constraint that is there, nor name one it has."""
    op.create_table(
        "label_task_new",
        sa.Column("question_id", sa.String(), *points_to, primary_key=True),
        sa.Column("expert", sa.String(), sa.ForeignKey("label_queue.expert"), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("task_id", sa.Integer()),
        sa.Column("sending", sa.Boolean(), nullable=False),
    )
    op.execute(
        "INSERT INTO label_task_new "
        "SELECT question_id, expert, place, digest, task_id, sending FROM label_task"
    )
    op.drop_table("label_task")
    op.rename_table("label_task_new", "label_task")
    op.create_index("ix_label_task_expert", "label_task", ["expert"])
