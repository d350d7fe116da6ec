"""The archive of a search: candidates, where they come from, what they answered, what was decided."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "search",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
    )
    op.create_table(
        "search_item",
        sa.Column("search_id", sa.String(), sa.ForeignKey("search.id"), primary_key=True),
        sa.Column("item_id", sa.String(), sa.ForeignKey("item.id"), primary_key=True),
        sa.Column("split", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
    )
    op.create_table(
        "candidate",
        sa.Column("search_id", sa.String(), sa.ForeignKey("search.id"), primary_key=True),
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in ("op", "name", "source", "thought", "note")
        ),
    )
    op.create_table(
        "candidate_parent",
        sa.Column("search_id", sa.String(), primary_key=True),
        sa.Column("child", sa.String(), primary_key=True),
        sa.Column("parent", sa.String(), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["search_id", "child"], ["candidate.search_id", "candidate.id"]),
        sa.ForeignKeyConstraint(["search_id", "parent"], ["candidate.search_id", "candidate.id"]),
    )
    op.create_table(
        "candidate_answer",
        sa.Column("search_id", sa.String(), primary_key=True),
        sa.Column("candidate_id", sa.String(), primary_key=True),
        sa.Column("replicate", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("item_id", sa.String(), sa.ForeignKey("item.id"), primary_key=True),
        sa.Column("option", sa.Integer()),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("raw", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["search_id", "candidate_id"], ["candidate.search_id", "candidate.id"]),
    )
    op.create_table(
        "search_event",
        sa.Column("search_id", sa.String(), sa.ForeignKey("search.id"), primary_key=True),
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
    )


def downgrade() -> None:
    for table in (
        "search_event",
        "candidate_answer",
        "candidate_parent",
        "candidate",
        "search_item",
        "search",
    ):
        op.drop_table(table)
