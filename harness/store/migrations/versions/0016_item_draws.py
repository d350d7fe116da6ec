"""Items drawn from a pool that is larger than what may be asked."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "item_draw",
        sa.Column("batch", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("remaining", sa.Integer(), nullable=False),
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("strata", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
    )
    op.create_table(
        "pool_item",
        sa.Column("item_id", sa.String(), sa.ForeignKey("item.id"), primary_key=True),
        sa.Column("stratum", sa.Integer(), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
    )
    op.create_index("ix_pool_item_batch", "pool_item", ["batch"])


def downgrade() -> None:
    op.drop_table("pool_item")
    op.drop_table("item_draw")
