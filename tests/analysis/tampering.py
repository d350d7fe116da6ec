"""Changes of a study's database past the program, and what an audit says of each."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

WHERE = {
    "on_server": "position = (SELECT min(position) FROM answer WHERE source = 'label_studio')",
    "an_answer": "position = (SELECT min(position) FROM audit_event WHERE kind = 'answer')",
    "last": "position = (SELECT max(position) FROM answer)",
}
"""Conditions of rows to be changed."""

CHANGES = {
    "a verdict on a server": (
        "UPDATE answer SET verdict = 'yes' WHERE {on_server}",
        r"question [0-9a-f]{16} \(answer \d+\): its value is 'yes', but event \d+ says 'no'",
    ),
    "a person on a server": ("UPDATE answer SET expert = 'eve' WHERE {on_server}", "its person is 'eve'"),
    "a source": ("UPDATE answer SET source = 'page' WHERE {on_server}", "its source is 'page'"),
    "a comment of an answer": (
        "UPDATE answer SET comment = 'fine' WHERE {on_server}",
        "its comment differs from that of event",
    ),
    "a comment taken away": (
        "UPDATE answer SET comment = '' WHERE {on_server}",
        "its comment differs from that of event",
    ),
    "a comment of an event": (
        "UPDATE audit_event SET comment = 'fine' WHERE {an_answer}",
        r"event \d+ \(answer, question [0-9a-f]{16}\): its comment differs from its digest in the chain",
    ),
    "a verdict of a batch": (
        "UPDATE answer SET verdict = 'skip' WHERE {last}",
        r"the batch of event \d+ \(answer \d+ to \d+\): its answers differ from those received",
    ),
    "a person of a batch": ("UPDATE answer SET expert = 'eve' WHERE {last}", "differ from those received"),
    "a source of a batch": (
        "UPDATE answer SET source = 'page' WHERE {last}",
        "have another source than simulated",
    ),
    "a question of a batch": (
        "UPDATE answer SET question_id = 'none' WHERE {last}",
        "differ from those received",
    ),
    "a control answer": (
        "UPDATE control_answer SET verdict = 'skip' "
        "WHERE position = (SELECT max(position) FROM control_answer)",
        r"the batch of event \d+ \(control_answer",
    ),
    "bytes for a verdict": ("UPDATE answer SET verdict = x'00' WHERE {last}", "differ from those received"),
    "a number for a verdict": ("UPDATE answer SET verdict = 1 WHERE {last}", "differ from those received"),
    "an answer of a batch removed": (
        "DELETE FROM answer WHERE {last}",
        r"answers were received, \d+ are stored",
    ),
    "all control answers removed": ("DELETE FROM control_answer", r"answers were received, 0 are stored"),
    "an answer from a server removed": (
        "DELETE FROM answer WHERE {on_server}",
        r"the answer to question [0-9a-f]{16}, of event \d+, is missing",
    ),
    "two answers exchanged": (
        "UPDATE answer SET position = 2 * (SELECT max(position) FROM answer) - 1 - position "
        "WHERE position >= (SELECT max(position) FROM answer) - 1",
        "its answers differ from those received",
    ),
    "an answer moved to the end": (
        "UPDATE answer SET position = 100000 WHERE {last}",
        "no event records the answer to question",
    ),
    "an answer moved to the beginning": (
        "UPDATE answer SET position = -1 WHERE {last}",
        "there were no answers when the design was frozen",
    ),
    "the last event removed": (
        "DELETE FROM audit_event WHERE position = (SELECT max(position) FROM audit_event)",
        "no event records the answer to question",
    ),
    "a giver": ("UPDATE handover SET giver = 'eve'", "was put to 'eve', but its events say"),
    "a taker": ("UPDATE handover SET taker = 'eve'", "is handed over to 'eve', but event"),
    "a place": ("UPDATE handover SET place = 7", "had place 7 in its first expert's queue"),
    "a look removed": ("DELETE FROM look", "look 1 has an event, but is no longer stored"),
    "a look": ("UPDATE look SET answered = 60", "the stored look 1 differs from its event"),
    "a look made up": (
        "INSERT INTO look (look, looks, answered, drawn, created) VALUES (2, 2, 60, 60, '')",
        "look 2 is stored, but no event records it",
    ),
    "an event removed": ("DELETE FROM audit_event WHERE position = 3", "event 3 is missing before event 4"),
    "the first event removed": ("DELETE FROM audit_event WHERE position = 0", "event 0 is missing"),
    "a time": ("UPDATE audit_event SET at = '2020' WHERE position = 2", r"event 2 \(.*its link is wrong"),
    "a link": ("UPDATE audit_event SET link = link || 'a' WHERE position = 2", r"event 2 \("),
    "a way": ("UPDATE audit_event SET way = 'x' WHERE position = 4", r"event 4 \("),
    "bytes for a way": ("UPDATE audit_event SET way = x'01' WHERE position = 4", r"event 4 \("),
    "a detail": ("UPDATE audit_event SET detail = '{{}}' WHERE kind = 'batch'", "its link is wrong"),
    "a detail that is none": ("UPDATE audit_event SET detail = '{{' WHERE kind = 'batch'", "cannot be read"),
    "a design": (
        "UPDATE audit_event SET detail = '{{\"parts\": 3}}' WHERE kind = 'design'",
        "lacks a field that its kind requires",
    ),
    "an event in place of another": (
        "UPDATE audit_event SET (kind, asked_id, detail, link) = (SELECT kind, asked_id, detail, link "
        "FROM audit_event WHERE position = 3) WHERE position = 2",
        r"event 2 \(",
    ),
    "an event before all others": (
        "INSERT INTO audit_event (position, at, kind, way, person, asked_id, value, comment, salt, "
        "comment_digest, seconds, key, detail, link) SELECT -1, at, kind, way, person, asked_id, value, "
        "comment, salt, comment_digest, seconds, 'k', detail, link FROM audit_event WHERE position = 2",
        r"event -1 \(.*out of order",
    ),
    "a handover": (
        "UPDATE handover SET taker = 'eve'",
        r"question [0-9a-f]{16} is handed over to 'eve', but event \d+ says '",
    ),
    "a handover removed": ("DELETE FROM handover", r"is not handed over, but event \d+ says"),
    "a propensity": ("UPDATE question SET propensity = 0.5 WHERE rowid = 7", "questions: altered"),
    "propensities": (
        "UPDATE question SET propensities = '[0.1, 0.2, 0.7]' WHERE rowid = 7",
        "questions: altered",
    ),
    "propensities that are none": (
        "UPDATE question SET propensities = '[' WHERE rowid = 7",
        "questions: altered or replaced after the freeze",
    ),
    "an option": ("UPDATE question SET option = 1 - option % 2 WHERE rowid = 7", "questions: altered"),
    "a question removed": (
        "DELETE FROM question WHERE rowid = 7",
        "questions: 60 were frozen, 59 are stored: removed after the freeze",
    ),
    "a question about nothing": (
        "UPDATE question SET item_id = 'none' WHERE rowid = 7",
        "questions: altered",
    ),
    "a question added": (
        "INSERT INTO question (id, item_id, protocol, propensity, seed, option, expert, n_options, "
        "propensities) SELECT 'new', item_id, protocol, propensity, seed, option + 1, expert, n_options, "
        "propensities FROM question WHERE rowid = 7",
        "questions: 60 were frozen, 61 are stored: added after the freeze",
    ),
    "a control question": ("UPDATE control_question SET expert = 'eve' WHERE rowid = 3", "controls: altered"),
    "a gold item": ("UPDATE gold_item SET truth = 1 - truth % 2 WHERE rowid = 3", "gold: altered"),
}


def tamper(folder: Path, sql: str, *values: Any) -> None:
    """Change the database past the program."""
    with closing(sqlite3.connect(folder / "study.db")) as database:
        changed = database.execute(sql, values).rowcount
        assert changed
        database.commit()
