"""Planned looks at a study's estimates while answers come in."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "look",
        sa.Column("look", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("answered", sa.Integer(), nullable=False),
        sa.Column("drawn", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("look")
