"""Write the studies and every verb's output for them; existing files are not replaced.

python -m tests.studies.write

If users are meant to see a change, name the cases; only those are written again:

python -m tests.studies.write partitioned/estimate-text help/estimate
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from oversight.harness.cli.main import main
from tests.fakes.openai_server import Reply, fake_openai
from tests.studies.filled import campaign, export_answers, fill_answers, fill_ratings
from tests.studies.laid_out import LAID_OUT, PORT
from tests.test_studies import CASES, HELP, STUDIES, play, play_help, words_of


def faulty(answer: Callable[[str], str]) -> Callable[[str, int], Reply]:
    """The model behind the server: some calls fail, some replies are cut short."""

    def reply(prompt: str, n: int) -> Reply:
        if n % 11 == 4:
            return Reply(status=500, body='{"error": {"message": "out of order"}}')
        return Reply("", finish_reason="length") if n % 13 in (6, 7) else Reply(answer(prompt))

    return reply


@contextlib.contextmanager
def server(folder: Path) -> Iterator[None]:
    """The loopback server that the half-finished run and the search ask; nothing for other studies."""
    name = f"{folder.name}_model"
    if not (folder / f"{name}.py").exists():
        yield
        return
    sys.path.insert(0, str(folder))
    answer = importlib.import_module(name).answer

    def whole(_: str, n: int) -> Reply:
        return Reply(answer("\n\n".join(message["content"] for message in fake.requests[n]["messages"])))

    try:
        with fake_openai(faulty(answer) if folder.name == "half" else whole, port=PORT) as fake:
            yield
    finally:
        sys.path.remove(str(folder))
        del sys.modules[name]


def write_study(folder: Path) -> None:
    """Lay out a study, run its verbs, and fold its database into one file without measured times."""
    truth = LAID_OUT[folder.name](folder)
    os.chdir(folder)
    with server(folder):
        for line in STUDIES[folder.name]["written"]:
            if line == "label import export.json":
                assert main(["label", "export"]) == 0
                export_answers(folder, truth)
            if line == "label import filled/*.csv":
                assert main(["label", "export"]) == 0
                if "panel" in folder.name:
                    fill_ratings(folder, truth)
                else:
                    fill_answers(folder, truth, open_share=0.2 if folder.name == "half" else 0.0)
            code = main(words_of(line, folder))
            assert code in (0, 1), line
    with contextlib.closing(sqlite3.connect(folder / "study.db")) as database:
        for j, (name,) in enumerate(database.execute("SELECT id FROM run ORDER BY created").fetchall()):
            moment = f"2026-01-05T09:00:{j:02}.000000+00:00"
            database.execute("UPDATE run SET created = ? WHERE id = ?", (moment, name))
        database.execute("UPDATE search SET created = '2026-01-05T10:00:00.000+00:00'")
        database.execute("UPDATE call SET created = '2026-01-05T10:00:01+00:00', ms = 1.5")
        if folder.name == "desk":
            campaign(database)
        for table in ("prediction", "candidate_answer"):
            database.execute(f"UPDATE {table} SET seconds = 0.25 WHERE seconds > 0")  # noqa: S608
        database.commit()
        database.execute("PRAGMA journal_mode=DELETE")
        database.execute("PRAGMA page_size=512")
        database.execute("VACUUM")


def write_missing(again: list[str]) -> None:
    """Write the studies and the expected answers that are not there, and those named ``STUDY/CASE``."""
    here = Path(__file__).parent
    sys.dont_write_bytecode = True
    for name in LAID_OUT:
        if not (here / name).exists():
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary) / name
                folder.mkdir()
                write_study(folder)
                os.chdir(here)
                shutil.copytree(folder, here / name)
    for name in HELP:
        path = here / "help" / f"{name.replace(' ', '-') or 'oversight'}.txt"
        if not path.exists() or f"help/{path.stem}" in again:
            path.parent.mkdir(exist_ok=True)
            path.write_text(play_help(name), encoding="utf-8")
    for case in CASES:
        if not case.expected.exists() or f"{case.study}/{case.name}" in again:
            with tempfile.TemporaryDirectory() as temporary:
                outcome = play(case, Path(temporary))
            case.expected.parent.mkdir(exist_ok=True)
            text = json.dumps(outcome, ensure_ascii=False, indent=0)
            case.expected.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_missing(sys.argv[1:])
