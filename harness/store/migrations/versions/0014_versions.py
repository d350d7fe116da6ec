"""Versions of runs on PostgreSQL: a statement that writes several rows of a run counts once."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

EVENTS = {"insert": ("new",), "update": ("old", "new"), "delete": ("old",)}


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for event, rows in EVENTS.items():
        tables = " UNION ".join(f"SELECT DISTINCT run_id FROM {row}_rows" for row in rows)  # noqa: S608  fixed names
        # in one order, or two writers of the same runs could wait for each other
        op.execute(
            f"CREATE OR REPLACE FUNCTION run_version_{event}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "  # noqa: S608
            f"INSERT INTO run_version (run_id, version) SELECT run_id, 1 FROM ({tables}) t ORDER BY run_id "
            "ON CONFLICT (run_id) DO UPDATE SET version = run_version.version + 1; RETURN NULL; END $$"
        )


def downgrade() -> None:
    """Nothing: what counts once is right before, too."""
