"""Create studies of any size: write their files, and import these with the project's commands."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import numpy as np

from benchmarks._study_files import call_command, write_study, write_table

CLASSES = ("cardiology", "neurology", "nephrology", "dermatology")
STRATA = ("day", "night", "weekend")
WORDS, VOCABULARY = 22, 20_000
UNSURE, UNREADABLE = 0.03, 0.02
"""Shares of the experts' answers that are "unsure", and of the models' answers that name no option."""
SETTINGS = f"""
[study]
name = "scale"
seed = 7
[items]
file = "items.csv"
classes = {json.dumps(CLASSES)}
meta = ["shift"]
[experts]
protocol = "partitioned"
"""


def make_scale_study(folder: Path, items: int, models: int) -> Path:
    """Create a study in which every item has one answer, and one prediction per model. Returns its database.

    The models' accuracies are from 50 to 90 %.
    """
    write_items(folder, items)
    call_command(folder, "label", "route")
    write_answers(folder)
    call_command(folder, "label", "import", str(folder / "answers.csv"))
    for number, accuracy in enumerate(np.linspace(0.5, 0.9, models)):
        write_log(folder, items, accuracy, seed=number)
        log, model = str(folder / "log.csv"), f"model-{number:02d}"
        call_command(folder, "predictions", "import", log, "--model", model)
    return folder / "study.db"


def item_id(position: int) -> str:
    """Return the id of an item. Items are not inserted in the order of ids, which would be faster."""
    return f"{position * 2_654_435_761 % 2**32:08x}-{position}"


def true_option(position: int) -> int:
    """Return the number of an item's true class."""
    return position * 2_654_435_761 % 2**32 // 7 % len(CLASSES)


def write_items(folder: Path, number: int) -> None:
    """Write the settings and items of a study. Texts have 24 words with very unequal frequencies."""
    write_study(folder, SETTINGS, {c: c for c in CLASSES})
    draw = random.Random(7)  # noqa: S311  nothing secret
    words = (int(VOCABULARY * draw.random() ** 4) for _ in range(number * WORDS))
    texts = (f"case {j} " + " ".join([f"w{next(words)}" for _ in range(WORDS)]) for j in range(number))
    items = ((item_id(j), text, STRATA[j % 3]) for j, text in enumerate(texts))
    write_table(folder / "items.csv", ("id", "text", "shift"), items)


def write_log(folder: Path, number: int, accuracy: float, seed: int) -> None:
    """Write log.csv, a model's answers about all items."""
    rng = np.random.default_rng(seed)
    right, names_none = rng.random(number) < accuracy, rng.random(number) < UNREADABLE
    shift = np.where(right, 0, rng.integers(1, len(CLASSES), number)).tolist()
    said = ("" if none else CLASSES[(true_option(j) + shift[j]) % 4] for j, none in enumerate(names_none))
    rows = ((item_id(j), name, f"I would say {name}, in case {j}.") for j, name in enumerate(said))
    write_table(folder / "log.csv", ("id", "prediction", "raw"), rows)


def write_answers(folder: Path) -> None:
    """Write answers.csv: the exported questions with answers, in random order."""
    call_command(folder, "label", "export", str(folder / "questions"))
    draw, rows = random.Random(8), list[list[str]]()  # noqa: S311  nothing secret
    for path in sorted((folder / "questions").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as stream:
            header, *own = csv.reader(stream)
        rows += own
    text, expert, answer = (header.index(name) for name in ("text", "expert", "answer"))
    for row in rows:
        said = "yes" if row[expert] == CLASSES[true_option(int(row[text].split()[1]))] else "no"
        row[answer] = "unsure" if draw.random() < UNSURE else said
    draw.shuffle(rows)
    write_table(folder / "answers.csv", header, rows)
