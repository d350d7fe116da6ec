"""Calls to models, so that none is paid for twice."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "call",
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("reply", sa.String(), nullable=False),
        sa.Column("finish", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("usd", sa.Float()),
        sa.Column("ms", sa.Float(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("call")
