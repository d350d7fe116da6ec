"""Columns of runs, kept beside the rows they were made from, and the version of those rows."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

EVENTS = {"insert": ("NEW",), "update": ("OLD", "NEW"), "delete": ("OLD",)}
COUNT = """INSERT INTO run_version (run_id, version) {runs}
  ON CONFLICT (run_id) DO UPDATE SET version = run_version.version + 1"""


def upgrade() -> None:
    op.create_table(
        "run_version",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "run_columns",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("options", sa.LargeBinary(), nullable=False),
        sa.Column("confidences", sa.LargeBinary(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
    )
    for event, rows in EVENTS.items():
        if op.get_bind().dialect.name == "postgresql":
            count_statements(event, rows)
        else:
            count_rows(event, rows)


def count_rows(event: str, rows: tuple[str, ...]) -> None:
    counts = "; ".join(COUNT.format(runs=f"VALUES ({row}.run_id, 1)") for row in dict.fromkeys(rows))
    op.execute(f"CREATE TRIGGER run_version_{event} AFTER {event} ON prediction BEGIN {counts}; END")


def count_statements(event: str, rows: tuple[str, ...]) -> None:
    # in one order, or two writers of the same runs could wait for each other
    tables = " UNION ".join(f"SELECT run_id FROM {row}_rows" for row in rows)  # noqa: S608  fixed names
    counts = COUNT.format(runs=f"SELECT run_id, 1 FROM ({tables}) t ORDER BY run_id")  # noqa: S608
    named = " ".join(f"{row} TABLE AS {row}_rows" for row in rows)
    op.execute(
        f"CREATE FUNCTION run_version_{event}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {counts}; RETURN NULL; END $$"
    )
    op.execute(
        f"CREATE TRIGGER run_version_{event} AFTER {event} ON prediction REFERENCING {named} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION run_version_{event}()"
    )


def downgrade() -> None:
    for event in EVENTS:
        if op.get_bind().dialect.name == "postgresql":
            op.execute(f"DROP TRIGGER run_version_{event} ON prediction")
            op.execute(f"DROP FUNCTION run_version_{event}()")
        else:
            op.execute(f"DROP TRIGGER run_version_{event}")
    op.drop_table("run_columns")
    op.drop_table("run_version")
