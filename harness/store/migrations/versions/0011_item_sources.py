"""Sources of items that were stored whole."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "item_source",
        sa.Column("digest", sa.String(), primary_key=True),
        sa.Column("items", sa.Integer(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("item_source")
