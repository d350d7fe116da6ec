"""The order in which questions are handed out; older questions have none."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("question", "control_question"):
        op.add_column(table, sa.Column("place", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    for table in ("control_question", "question"):
        op.drop_column(table, "place")
