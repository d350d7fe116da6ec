"""The step that read an answer; of older answers it is not known."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("prediction", sa.Column("step", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("prediction", "step")
