"""Answers of a study's experts: filled files, a Label Studio export, the records of a campaign."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np

from tests.studies.laid_out import TRIAGE
from tests.studies.tables import Truth, read_csv, write_csv


def fill_answers(folder: Path, truth: Truth, open_share: float = 0.0) -> None:
    """Fill in the exported questions: mostly right, some unsure or skipped, some with a comment."""
    rng = np.random.default_rng(5)
    for path in sorted((folder / "questions").glob("*.csv")):
        rows = read_csv(path)
        asked = {row["id"]: row["text"] for row in read_csv(folder / "items.csv")}
        by_text = {text: truth[name] for name, text in asked.items()}
        for row in rows:
            draw, err = rng.random(2)
            yes = (row["question"] == f"Is the answer: {by_text[row['text']]}?") == (err > 0.03)
            row["answer"] = "unsure" if draw < 0.05 else "skip" if draw < 0.07 else "yes" if yes else "no"
            row["comment"] = "two fields at once" if draw > 0.95 else ""
            if draw > 1 - open_share:
                row |= {"answer": "", "comment": ""}
        write_csv(folder / "filled" / path.name, rows)
    shutil.rmtree(folder / "questions")


def fill_ratings(folder: Path, truth: Truth) -> None:
    """Fill in the exported panel; raters differ in care, and leave some items out."""
    rng = np.random.default_rng(6)
    for care, path in zip(
        (0.9, 0.85, 0.8, 0.75, 0.7), sorted((folder / "questions").glob("*.csv")), strict=True
    ):
        rows = read_csv(path)
        for row in rows:
            draw, err = rng.random(2)
            said = truth[row["item"]] if err < care else str(rng.choice(TRIAGE))
            row["label"] = "" if draw < 0.04 else said
        write_csv(folder / "filled" / path.name, rows)
    shutil.rmtree(folder / "questions")


def export_answers(folder: Path, truth: Truth) -> None:
    """A JSON export of Label Studio with the answers of the first two in three questions of every expert."""
    by_text = {row["text"]: truth[row["id"]] for row in read_csv(folder / "items.csv")}
    tasks: list[dict[str, object]] = []
    for user, path in enumerate(sorted((folder / "questions").glob("*.csv")), start=3):
        for j, row in enumerate(read_csv(path)):
            yes = row["question"] == f"Is the answer: {by_text[row['text']]}?"
            said = [{"from_name": "verdict", "value": {"choices": ["yes" if yes else "no"]}}]
            number = 100 * user + j
            annotation = {"id": number, "completed_by": user, "updated_by": user, "result": said}
            data = {"question_id": row["question_id"].removeprefix("q-")}
            tasks.append({"id": number, "data": data, "annotations": [] if j % 3 == 2 else [annotation]})
    folder.joinpath("export.json").write_text(json.dumps(tasks, indent=0) + "\n", encoding="utf-8")
    shutil.rmtree(folder / "questions")


def campaign(database: sqlite3.Connection) -> None:
    """Store the records of a campaign on a server: queues, tasks, states of answers, a quarantine."""
    server, moment = "http://127.0.0.1:18432", "2026-01-05T09:30:00.000000Z"
    asked: dict[str, list[str]] = {}
    for expert, question in database.execute("SELECT expert, id FROM question ORDER BY expert, id"):
        asked.setdefault(expert, []).append(question)
    done = {row[0] for row in database.execute("SELECT question_id FROM answer")}
    for user, (expert, ids) in enumerate(asked.items(), start=3):
        queue = (
            expert,
            f"marker-{user}",
            server,
            10 + user,
            f"{expert}@example.org",
            user,
            moment,
            user == 3,
        )
        database.execute("INSERT INTO label_queue VALUES (?, ?, ?, ?, ?, ?, ?, ?)", queue)
        for j, question in enumerate(ids):
            task = (question, expert, j, f"{user:04}{j:04}", 100 * user + j, False)
            database.execute("INSERT INTO label_task VALUES (?, ?, ?, ?, ?, ?)", task)
            for version in range(1 + (j == 0) if question in done else 0):
                said = json.dumps([{"from_name": "verdict", "value": {"choices": ["no"]}}])
                names = (
                    "expert, annotation_id, version, position, task_id, question_id, deleted, author, editor"
                )
                state = (expert, 1000 * user + j, f"v{version}", 1000 * user + 10 * j + version, task[4])
                rest = (question, False, user, user, False, said, moment, 20.5 + 3 * j + version)
                database.execute(
                    f"INSERT INTO label_revision ({names}, cancelled, result, updated_at, seconds) "  # noqa: S608
                    f"VALUES ({', '.join('?' * 13)})",
                    (*state, *rest),
                )
    first = next(iter(asked))
    foreign = (first, 9001, 300, asked[first][0], "answered by another user", "user 99")
    database.execute("INSERT INTO label_quarantine VALUES (?, ?, ?, ?, ?, ?)", foreign)
