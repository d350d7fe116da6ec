"""Route and import many rows, compared with a raw `executemany` of the same rows.

A study is written as files; `label route`, `label import` and `predictions import` run on them, each in a
separate process, measured from start to end. Afterwards the rows of each command are written again by one
`executemany` per table into an empty database with the same tables, indices, triggers and settings,
including the full-text index; reading the rows back is not counted.

    python benchmarks/bulk.py [--quick]

The last line is JSON: CPU time of each command divided by that of `executemany`, and the largest peak memory.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks._options import read_options
from benchmarks._scale_studies import write_answers, write_items, write_log
from benchmarks.scale import run_timed

LIMIT = 3600.0
SETTINGS = ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "cache_size=-65536")
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
    number = 100_000 if read_options(__doc__).quick else 1_000_000
    found, peak = dict[str, float](), 0.0
    with tempfile.TemporaryDirectory(prefix="oversight-bulk") as name:
        folder = Path(name)
        write_items(folder, number)
        write_log(folder, number, 0.8, seed=0)
        for label, (words, tables) in COMMANDS.items():
            if label == "label_import":
                write_answers(folder)
            cost = run_timed(words, folder, LIMIT)
            assert cost is not None, f"{label} took more than {LIMIT:.0f} s"
            cpu = write_raw(folder, tables)
            found[label], peak = cost["cpu"] / cpu, max(peak, cost["mb"])
            print(
                f"{label:<20}{cost['cpu']:8.1f} s CPU{cost['wall']:8.1f} s{cost['mb']:7.0f} MB; "
                f"executemany{cpu:8.1f} s CPU; {found[label]:.2f} times its CPU",
                flush=True,
            )
    print(json.dumps({name: round(ratio, 2) for name, ratio in found.items()} | {"mb": round(peak)}))


def write_raw(folder: Path, tables: tuple[str, ...]) -> float:
    """Write the rows of these tables into a new database. Returns CPU seconds.

    Rows of other tables that these rows refer to are written first, and their time is not measured.
    """
    copy = folder / "raw.db"
    cpu = 0.0
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
            wanted = READ.get(table, f"SELECT * FROM {table} ORDER BY rowid")  # noqa: S608
            rows = source.execute(wanted).fetchall()
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                columns = "(rowid, words)" if table == "item_words" else ""
                used = time.process_time()
                target.executemany(f"INSERT INTO {table} {columns} VALUES ({marks})", rows)  # noqa: S608
                target.commit()
                cpu += (time.process_time() - used) * (table in tables)
            del rows
    for path in folder.glob("raw.db*"):
        path.unlink()
    return cpu


if __name__ == "__main__":
    main()
