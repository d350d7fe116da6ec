"""Personal links by which experts open the page to answer on."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "answer_link",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("expert", sa.String(), nullable=False),
        sa.Column("token_digest", sa.String(), nullable=False),
        sa.Column("session_digest", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("expires", sa.String(), nullable=False),
        sa.Column("revoked", sa.String(), nullable=False),
        sa.Column("seen", sa.String(), nullable=False),
    )
    op.create_index("ix_answer_link_expert", "answer_link", ["expert"])


def downgrade() -> None:
    op.drop_table("answer_link")
