"""Items, questions, answers, runs, predictions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "item",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("permutation", sa.JSON(), nullable=False),
        sa.Column("meta", sa.JSON(), nullable=False),
    )
    op.create_index("ix_item_position", "item", ["position"])
    op.create_table(
        "question",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("item_id", sa.String(), sa.ForeignKey("item.id"), nullable=False),
        sa.Column("option", sa.Integer(), nullable=False),
        sa.Column("expert", sa.String(), nullable=False),
        sa.Column("n_options", sa.Integer(), nullable=False),
        sa.Column("protocol", sa.String(), nullable=False),
        sa.Column("propensity", sa.Float(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("propensities", sa.JSON(), nullable=False),
        sa.UniqueConstraint("item_id", "option", "expert", name="uq_question_asked_once"),
    )
    op.create_index("ix_question_item_id", "question", ["item_id"])
    op.create_index("ix_question_expert", "question", ["expert"])
    op.create_table(
        "answer",
        sa.Column("question_id", sa.String(), sa.ForeignKey("question.id"), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("expert", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
    )
    op.create_index("ix_answer_position", "answer", ["position"])
    op.create_table(
        "run",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
    )
    op.create_index("ix_run_name", "run", ["name"])
    op.create_table(
        "prediction",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("item_id", sa.String(), sa.ForeignKey("item.id"), primary_key=True),
        sa.Column("sample", sa.Integer(), primary_key=True),
        sa.Column("option", sa.Integer()),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("raw", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
    )


def downgrade() -> None:
    for table in ("prediction", "run", "answer", "question", "item"):
        op.drop_table(table)
