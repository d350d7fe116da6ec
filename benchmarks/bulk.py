"""Route and import many rows, compared with a raw `executemany` of the same rows.

A study is written as files; `label route`, `label import` and `predictions import` run on them, each in a
separate process, measured from start to end. Afterwards the rows of each command are written again by one
`executemany` per table into an empty database with the same tables, indices, triggers and settings,
including the full-text index; reading the rows back is not counted.

    python benchmarks/bulk.py [--items N] [--quick]

The last line is JSON: CPU time of each command divided by that of `executemany`, and the largest peak memory.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._scale_studies import CLASSES, STRATA, VOCABULARY, WORDS, item_id
from benchmarks.scale import outside
from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.protocols.collect.spreadsheets.cells import write_checks
from oversight.protocols.study_labels import text_key

LIMIT = 3600.0
SETTINGS = ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "cache_size=-65536")
STUDY = """
[study]
name = "bulk"
seed = 7
[items]
file = "items.csv"
classes = {classes}
meta = ["shift"]
[experts]
protocol = "partitioned"
"""
COMMANDS = {
    "route": (("label", "route"), ("item", "item_words", "question")),
    "label_import": (("label", "import", "answers.csv"), ("answer",)),
    "predictions_import": (("predictions", "import", "log.csv", "--model", "m"), ("prediction",)),
}

READ = {
    "item_words": "SELECT position, id || ' ' || text || ' ' || options FROM item ORDER BY position",
    # Read answers in the order of the imported file, because the command stores rows in another order.
    "answer": "SELECT * FROM answer ORDER BY position",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="with 100,000 items")
    options = parser.parse_args()
    number = 100_000 if options.quick else options.items
    program, found, peak = str(Path(sys.executable).with_name("oversight")), dict[str, float](), 0.0
    with tempfile.TemporaryDirectory(prefix="oversight-bulk") as name:
        folder = Path(name)
        lay_out(folder, number)
        for label, (words, tables) in COMMANDS.items():
            if label == "label_import":
                write_answers(folder)
            cost = outside([program, *words], folder, LIMIT)
            assert cost is not None, f"{label} took more than {LIMIT:.0f} s"
            cpu, wall = write_raw(folder, tables)
            found[label], peak = cost.cpu / cpu, max(peak, cost.mb)
            print(
                f"{label:<20}{cost.cpu:8.1f} s CPU{cost.wall:8.1f} s{cost.mb:7.0f} MB; "
                f"executemany{cpu:8.1f} s CPU{wall:8.1f} s; {found[label]:.2f} times its CPU",
                flush=True,
            )
    print(json.dumps({name: round(ratio, 2) for name, ratio in found.items()} | {"mb": round(peak)}))


def lay_out(folder: Path, number: int) -> None:
    """Write a study with items of 24 words, and a model's answers. 2 % of the answers name no option."""
    draw = random.Random(7)  # noqa: S311  nothing secret
    experts = "".join(f'[[expert]]\nname = "{c}-expert"\nclasses = ["{c}"]\n\n' for c in CLASSES)
    folder.joinpath("experts.toml").write_text(experts, encoding="utf-8")
    folder.joinpath("study.toml").write_text(STUDY.format(classes=json.dumps(CLASSES)), encoding="utf-8")
    with (
        folder.joinpath("items.csv").open("w", encoding="utf-8", newline="") as items,
        folder.joinpath("log.csv").open("w", encoding="utf-8", newline="") as log,
    ):
        write_item, write_answer = csv.writer(items).writerow, csv.writer(log).writerow
        write_item(("id", "text", "shift"))
        write_answer(("id", "prediction", "raw"))
        for j in range(number):
            text = " ".join([f"w{int(VOCABULARY * draw.random() ** 4)}" for _ in range(WORDS)])
            write_item((item_id(j), text, STRATA[j % 3]))
            said = draw.choice(CLASSES) if draw.random() > 0.02 else ""
            raw = f"I would say {said}, in case {j}." if said else "I cannot tell from this."
            write_answer((item_id(j), said, raw))


def write_answers(folder: Path) -> None:
    """Write a file of answered questions, in the format of `label export` and in random order."""
    draw = random.Random(8)  # noqa: S311  nothing secret
    query = (
        "SELECT q.id, q.expert, i.text, q.option, i.permutation "
        "FROM question q JOIN item i ON i.id = q.item_id"
    )
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        rows = connection.execute(query).fetchall()
    draw.shuffle(rows)
    cells = [
        (text, " | ".join([CLASSES[j] for j in json.loads(order)]), f"Is the answer: {CLASSES[option]}?")
        for _, _, text, option, order in rows
    ]
    study = read_study(folder / "study.toml")
    with Store(study.store_url) as store:
        key = text_key(study, store)
    checks = "" if key is None else write_checks(list(zip(*cells, strict=True)), key)
    with folder.joinpath("answers.csv").open("w", encoding="utf-8", newline="") as stream:
        write = csv.writer(stream).writerow
        write(("question_id", "expert", "text", "options", "question", "answer", "comment"))
        for place, (name, expert, *_) in enumerate(rows):
            check, said = checks[8 * place : 8 * place + 8], draw.choice(("yes", "no", "no", "unsure"))
            write((f"q-{name}-{check}", expert, *cells[place], said, ""))


def write_raw(folder: Path, tables: tuple[str, ...]) -> tuple[float, float]:
    """Write the rows of these tables into a new database. Returns CPU and elapsed seconds.

    Rows of other tables that these rows refer to are written first, and their time is not measured.
    """
    copy = folder / "raw.db"
    cpu = wall = 0.0
    with closing(sqlite3.connect(folder / "study.db")) as source, closing(sqlite3.connect(copy)) as target:
        for setting in SETTINGS:
            target.execute(f"PRAGMA {setting}")
        query = (
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
            "AND name NOT LIKE 'item_words_%' AND type = ?"
        )
        for kind in ("table", "index", "trigger"):
            for (sql,) in source.execute(query, (kind,)).fetchall():
                target.execute(sql)
        target.execute("INSERT INTO item_words (item_words, rank) VALUES ('hashsize', 4194304)")
        for table in dict.fromkeys(("item", "question", "run", *tables)):
            rows = source.execute(READ.get(table, f"SELECT * FROM {table} ORDER BY rowid")).fetchall()  # noqa: S608
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                columns = "(rowid, words)" if table == "item_words" else ""
                clock, used = time.monotonic(), time.process_time()
                target.executemany(f"INSERT INTO {table} {columns} VALUES ({marks})", rows)  # noqa: S608
                target.commit()
                if table in tables:
                    cpu, wall = cpu + time.process_time() - used, wall + time.monotonic() - clock
            del rows
    for path in folder.glob("raw.db*"):
        path.unlink()
    return cpu, wall


if __name__ == "__main__":
    main()
