"""What answers under way may cost, what was charged without one, and which calls were charged by guess."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    used = ("requests", "input_tokens", "output_tokens")
    op.create_table(
        "reservation",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("item_id", sa.String(), sa.ForeignKey("item.id"), primary_key=True),
        sa.Column("sample", sa.Integer(), primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in used),
    )
    op.create_table(
        "guessed_usage",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("item_id", sa.String(), primary_key=True),
        sa.Column("sample", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "item_id", "sample"],
            [f"prediction.{name}" for name in ("run_id", "item_id", "sample")],
        ),
    )
    op.create_table(
        "charge",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("answers", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in used),
    )


def downgrade() -> None:
    op.drop_table("charge")
    op.drop_table("guessed_usage")
    op.drop_table("reservation")
