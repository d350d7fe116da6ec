"""Create the tables of a study, and bring those of an older version up to date, to the tables of the code."""

from __future__ import annotations

import secrets
from importlib import import_module
from pathlib import Path

import sqlalchemy as sa

_RETIRED = (
    "first_look", "call_claim", "program_portion", "program_work", "lease", "joint_part", "worker",
    "late_answer", "pace", "joint_run",
)  # fmt: skip
"""Tables of older versions, dropped unless the code has them; those that refer to others come first."""
_CLAIMED = """
INSERT INTO calls_under_way (run_id, requests, input_tokens, output_tokens)
SELECT work_id, sum(requests), sum(input_tokens), sum(output_tokens)
FROM call_claim WHERE work_id IN (SELECT id FROM run) GROUP BY work_id
ON CONFLICT (run_id) DO UPDATE SET
requests = calls_under_way.requests + excluded.requests,
input_tokens = calls_under_way.input_tokens + excluded.input_tokens,
output_tokens = calls_under_way.output_tokens + excluded.output_tokens
"""
_CHANGED = {"insert": ("NEW",), "update": ("OLD", "NEW"), "delete": ("OLD",)}
"""Rows that a trigger on each event sees."""
_COUNT = """INSERT INTO run_version (run_id, version) {runs}
  ON CONFLICT (run_id) DO UPDATE SET version = run_version.version + 1"""
_WORDS = {
    "sqlite": (
        "CREATE VIRTUAL TABLE item_words USING fts5(words, content='', tokenize='ascii', detail='none')",
        # more words are collected before they are written: four times the default takes a fifth less time
        "INSERT INTO item_words (item_words, rank) VALUES ('hashsize', 4194304)",
    ),
    "postgresql": (
        "CREATE TABLE item_words (position INTEGER PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX ix_item_words_words ON item_words USING gin (words)",
    ),
}


def upgrade_tables(connection: sa.Connection) -> None:
    """Make the database's tables those of the code, inside a transaction; rows are kept.

    It compares what is stored with the code, so it works on a database of any older version, and a second
    time changes nothing. Tables, columns and indices that the code has are added; columns and indices that it
    has no more are dropped, and so are the retired tables.
    """
    metadata = _read_metadata()
    stored = set(sa.inspect(connection).get_table_names())
    if "call_claim" in stored and "call_claim" not in metadata.tables:
        connection.exec_driver_sql(_CLAIMED)  # so that the next command charges the run for these calls
    for name in _RETIRED:
        if name in stored and name not in metadata.tables:
            connection.exec_driver_sql(f"DROP TABLE {name}")
    if "label_task" in stored:
        _free_tasks(connection, metadata.tables["label_task"])
    for table in metadata.sorted_tables:
        if table.name in stored:
            _match_columns(connection, table)
        else:
            _create(connection, table)
    _count_changes(connection)
    if "item_words" not in stored:
        for statement in _WORDS[connection.dialect.name]:
            connection.exec_driver_sql(statement)
    mark = metadata.tables["database_mark"]
    if not connection.execute(sa.select(mark.c.id)).all():
        row = {"id": 0, "database": secrets.token_hex(16), "copied_at": "", "source": "", "moved_to": ""}
        connection.execute(mark.insert(), [row])


def _read_metadata() -> sa.MetaData:
    folder = Path(__file__).with_name("tables")
    for path in folder.glob("*_table*.py"):
        import_module(f"oversight.harness.store.tables.{path.stem}")
    from sqlmodel import SQLModel

    return SQLModel.metadata


def _create(connection: sa.Connection, table: sa.Table) -> None:
    statement = sa.schema.CreateTable(table)
    # keys first: a column that follows a long text takes long to read
    statement.columns.sort(key=lambda column: not column.element.primary_key)
    connection.execute(statement)
    for index in table.indexes:
        index.create(connection)


def _match_columns(connection: sa.Connection, table: sa.Table) -> None:
    """Add the columns and indices that a stored table lacks, and drop those that the code has no more."""
    inspector = sa.inspect(connection)
    columns = {column["name"] for column in inspector.get_columns(table.name)}
    wanted = {str(index.name): index for index in table.indexes}
    found = inspector.get_indexes(table.name)
    indices = {str(index["name"]) for index in found if "duplicates_constraint" not in index}
    for name in indices - wanted.keys():
        connection.exec_driver_sql(f"DROP INDEX {name}")
    for column in table.columns:
        if column.name not in columns:
            added = sa.schema.CreateColumn(column).compile(connection)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {added}")
    for name in columns - {column.name for column in table.columns}:
        connection.exec_driver_sql(f"ALTER TABLE {table.name} DROP COLUMN {name}")
    for name in wanted.keys() - indices:
        wanted[name].create(connection)


def _free_tasks(connection: sa.Connection, tasks: sa.Table) -> None:
    """Let queued tasks be of a panel, too: drop the constraint that each is of a question.

    SQLite cannot drop a constraint, so the rows are copied into a new table.
    """
    keys = sa.inspect(connection).get_foreign_keys("label_task")
    names = [key["name"] for key in keys if key["referred_table"] == "question"]
    if not names:
        return
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"ALTER TABLE label_task DROP CONSTRAINT {names[0]}")
        return
    connection.exec_driver_sql("ALTER TABLE label_task RENAME TO label_task_before")
    for index in tasks.indexes:
        connection.exec_driver_sql(f"DROP INDEX {index.name}")
    tasks.create(connection)
    columns = ", ".join(column.name for column in tasks.columns)
    copy = f"INSERT INTO label_task ({columns}) SELECT {columns} FROM label_task_before"  # noqa: S608  fixed names
    connection.exec_driver_sql(copy)
    connection.exec_driver_sql("DROP TABLE label_task_before")


def _count_changes(connection: sa.Connection) -> None:
    """Have the database count the changes of each run's predictions, whichever program makes them."""
    is_file = connection.dialect.name == "sqlite"
    for event, rows in _CHANGED.items():
        trigger = f"run_version_{event}"
        if is_file:
            values = (_COUNT.format(runs=f"VALUES ({row}.run_id, 1)") for row in dict.fromkeys(rows))
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {trigger}")
            connection.exec_driver_sql(
                f"CREATE TRIGGER {trigger} AFTER {event} ON prediction BEGIN {'; '.join(values)}; END"
            )
            continue
        changed = " UNION ".join(f"SELECT DISTINCT run_id FROM {row}_rows" for row in rows)  # noqa: S608  fixed names
        # in one order, or two writers of the same runs could wait for each other
        runs = f"SELECT run_id, 1 FROM ({changed}) t ORDER BY run_id"  # noqa: S608
        named = " ".join(f"{row} TABLE AS {row}_rows" for row in rows)
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {trigger} ON prediction")
        connection.exec_driver_sql(
            f"CREATE OR REPLACE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {_COUNT.format(runs=runs)}; RETURN NULL; END $$"
        )
        connection.exec_driver_sql(
            f"CREATE TRIGGER {trigger} AFTER {event} ON prediction REFERENCING {named} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {trigger}()"
        )
