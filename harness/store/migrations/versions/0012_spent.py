"""What workflows' runs paid for calls."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "spent",
        sa.Column("run_id", sa.String(), sa.ForeignKey("run.id"), primary_key=True),
        *(sa.Column(n, sa.Integer(), nullable=False) for n in ("requests", "input_tokens", "output_tokens")),
    )


def downgrade() -> None:
    op.drop_table("spent")
