"""What happened in a collection, chained by hashes; questions handed over, and experts who are away."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_event",
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("way", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("asked_id", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=True),
        sa.Column("salt", sa.String(), nullable=False),
        sa.Column("comment_digest", sa.String(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("key", sa.String(), nullable=True, unique=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("link", sa.String(), nullable=False),
    )
    op.create_index("ix_audit_event_asked_id", "audit_event", ["asked_id"])
    op.create_table(
        "handover",
        sa.Column("asked_id", sa.String(), primary_key=True),
        sa.Column("giver", sa.String(), nullable=False),
        sa.Column("taker", sa.String(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.Column("created", sa.String(), nullable=False),
    )
    op.create_index("ix_handover_giver", "handover", ["giver"])
    op.create_index("ix_handover_taker", "handover", ["taker"])
    op.create_table(
        "absence",
        sa.Column("expert", sa.String(), primary_key=True),
        sa.Column("since", sa.String(), nullable=False),
        sa.Column("until", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
    )
    op.add_column(
        "label_quarantine", sa.Column("over", sa.Boolean(), nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    op.drop_column("label_quarantine", "over")
    op.drop_table("absence")
    op.drop_table("handover")
    op.drop_table("audit_event")
