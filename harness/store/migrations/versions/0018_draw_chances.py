"""The chance with which every item drawn of a pool was drawn."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pool_item", sa.Column("chance", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("pool_item", "chance")
