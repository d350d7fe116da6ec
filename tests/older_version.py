"""Studies as an older version left them."""

from __future__ import annotations

import sqlalchemy as sa

LATER = {
    "0003": "rating assignment",
    "0010": "run_version run_columns",
    "0011": "item_source",
    "0012": "spent",
    "0013": "item_words",
    "0015": "calls_under_way",
    "0016": "pool_item item_draw",
    "0017": "control_answer control_question gold_item",
    "0019": "audit_event handover absence label_quarantine.over",
    "0020": "answer_link",
    "0023": "question.place",
    "0024": "prediction.step",
    "0025": "question_key",
    "0026": "database_mark",
    "0030": "judge_probability",
}
"""Revision → tables and columns that it added."""
TASKS = """CREATE TABLE label_task_old (
    question_id VARCHAR PRIMARY KEY REFERENCES question (id),
    expert VARCHAR NOT NULL REFERENCES label_queue (expert),
    place INTEGER NOT NULL, digest VARCHAR NOT NULL, task_id INTEGER, sending BOOLEAN NOT NULL)"""


def make_older(url: str, revision: str) -> None:
    """Take a study back to the tables of an older revision; what was in later ones is lost."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        run = connection.exec_driver_sql
        is_file = connection.dialect.name == "sqlite"
        if revision < "0003":
            run("DELETE FROM label_task WHERE question_id IN (SELECT id FROM assignment)")
            run(TASKS)
            names = "question_id, expert, place, digest, task_id, sending"
            run(f"INSERT INTO label_task_old ({names}) SELECT {names} FROM label_task")  # noqa: S608  fixed names
            run("DROP TABLE label_task")
            run("ALTER TABLE label_task_old RENAME TO label_task")
            run("CREATE INDEX ix_label_task_expert ON label_task (expert)")
        if revision < "0010":
            for event in ("insert", "update", "delete"):
                run(f"DROP TRIGGER run_version_{event}{'' if is_file else ' ON prediction'}")
        for added, names in sorted(LATER.items(), reverse=True):
            for name in names.split() if added > revision else ():
                table, _, column = name.partition(".")
                run(f"ALTER TABLE {table} DROP COLUMN {column}" if column else f"DROP TABLE {table}")
        run(f"UPDATE alembic_version SET version_num = '{revision}'")  # noqa: S608  a test's own
    engine.dispose()
