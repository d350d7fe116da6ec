"""Gold items, control questions in experts' queues, and the answers to them."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "gold_item",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("permutation", sa.JSON(), nullable=False),
        sa.Column("truth", sa.Integer(), nullable=False),
    )
    op.create_table(
        "control_question",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("item_id", sa.String(), nullable=False),
        sa.Column("option", sa.Integer(), nullable=False),
        sa.Column("expert", sa.String(), nullable=False),
        sa.Column("n_options", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("original", sa.String(), nullable=False),
    )
    op.create_index("ix_control_question_expert", "control_question", ["expert"])
    op.create_table(
        "control_answer",
        sa.Column("question_id", sa.String(), sa.ForeignKey("control_question.id"), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("expert", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
    )
    op.create_index("ix_control_answer_position", "control_answer", ["position"])


def downgrade() -> None:
    op.drop_table("control_answer")
    op.drop_table("control_question")
    op.drop_table("gold_item")
