"""Finished studies on disk, opened again: every verb says what it said when they were written.

Nothing of the packages is used but the root command, so that these tests outlive any rearrangement.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import shlex
import sqlite3
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from oversight.harness.cli.main import main
from oversight.harness.distribution import VERSION
from oversight.harness.store import Store
from oversight.harness.store.tables.study_tables import QUESTION_KEY
from tests.studies.opened import copy_study, read_upgraded

ROOT = Path(__file__).parent / "studies"
_TABLE = tomllib.loads((ROOT / "cases.toml").read_text(encoding="utf-8"))
HELP: list[str] = _TABLE.pop("help")
STUDIES: dict[str, dict[str, Any]] = _TABLE


@dataclass(frozen=True)
class Case:
    """Command lines in one study, and how its database is before and after.

    ``reads`` leave it as it is, ``writes`` may change it, ``fresh`` begin without one.
    """

    study: str
    kind: str
    name: str
    lines: tuple[str, ...]

    @property
    def expected(self) -> Path:
        return ROOT / self.study / "expected" / f"{self.name}.json"


def _cases() -> Iterator[Case]:
    for study, table in STUDIES.items():
        for kind in ("reads", "writes", "fresh"):
            for name, lines in table.get(kind, {}).items():
                yield Case(study, kind, name, (lines,) if isinstance(lines, str) else tuple(lines))


CASES = list(_cases())


def words_of(line: str, folder: Path) -> list[str]:
    """Split a command line; words with a star become the files of that name."""
    words: list[str] = []
    for word in shlex.split(line):
        found = sorted(str(p.relative_to(folder)) for p in folder.glob(word)) if "*" in word[1:] else []
        words += found or [word]
    return words


def call(words: list[str]) -> tuple[int, str, str]:
    """Run the root command; exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:  # argparse ends the program this way
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder as a new process would: with none of its modules, a terminal of one width."""
    modules, path = set(sys.modules), list(sys.path)
    settings = {"COLUMNS": "100", "NO_COLOR": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    with contextlib.chdir(folder), mock.patch.dict(os.environ, settings):
        for name in ("FORCE_COLOR", "LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY", "OPENAI_API_KEY"):
            os.environ.pop(name, None)
        try:
            yield
        finally:
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]


def steady(text: str, folder: Path) -> str:
    """Put a word in place of what must vary: the folder, the time of day, versions of packages."""
    text = text.replace(str(folder), "<study>")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "<now>", text)
    text = re.sub(r"(?!2026-01-05)\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "<now>", text)
    text = re.sub(r"(?m)^seed = \d{9,} +#", "seed = <random> #", text)
    text = re.sub(r'"versions":\{[^}]*\}', '"versions":{}', text)
    return re.sub(r'"version":"[^"]*"', '"version":""', text)


def content(path: Path, folder: Path) -> Any:
    """Content of a file: rows of a table, words of a page, lines of a text; only a mark for a picture."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.read_table(path).to_pylist()
    if path.suffix == ".svg":
        return "<svg>"
    text = steady(path.read_text(encoding="utf-8"), folder)
    if path.suffix == ".html":
        found = re.search(r'(?s)<script type="application/json" id="data">(.*?)</script>', text)
        held = json.loads(found[1] if found else "")
        shown = {name: held["parts"].get(name) for name in ("frame", "overview", "search")}
        return {"note": held["note"], "items": len(held["items"]), "parts": sorted(held["parts"]), **shown}
    return text.splitlines()


def copied(study: str, target: Path, *, fresh: bool = False) -> Path:
    """Copy what a study is made of."""
    folder = copy_study(study, target)
    if fresh:
        (folder / "study.db").unlink()
        with Store(f"sqlite:///{folder / 'study.db'}") as store:
            # the version that wrote the study had no secret key in question ids
            store.write_rows(QUESTION_KEY.insert(), [{"id": 0, "secret": b""}])
    return folder


def play(case: Case, target: Path) -> dict[str, Any]:
    """Run a case in a copy of its study: codes, output, what it says of an error, files in ``out``."""
    folder = copied(case.study, target, fresh=case.kind == "fresh")
    (folder / "out").mkdir()
    steps = []
    with inside(folder):
        for line in case.lines:
            plain = case.name.endswith("-text")
            code, out, err = call([*words_of(line, folder), *([] if plain else ["--json"])])
            step: dict[str, Any] = {"argv": line, "code": code}
            step["out"] = (
                steady(out, folder).splitlines() if plain or not out else json.loads(steady(out, folder))
            )
            if code == 2:
                # newer versions of Python use fewer quotation marks
                step["err"] = steady(err, folder).replace("'", "").split()
            steps.append(step)
    made = sorted(p for p in (folder / "out").rglob("*") if p.is_file())
    return {"steps": steps, "files": {str(p.relative_to(folder)): content(p, folder) for p in made}}


def play_help(verb: str) -> str:
    """The text of ``--help``; it ends with exit code 0 and says nothing on standard error."""
    with inside(ROOT):
        code, out, err = call([*verb.split(), "--help"])
    assert (code, err) == (0, "")
    return out


def differences(found: Any, wanted: Any, at: str = "") -> Iterator[str]:
    """Yield the differences of two JSON values, except rounding of floats and new keys in printed objects."""
    if isinstance(found, float) and isinstance(wanted, float):
        if not math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{at}: {found!r}, was {wanted!r}"
    elif isinstance(found, dict) and isinstance(wanted, dict) and _old(found, wanted, at) == list(wanted):
        for key in wanted:
            yield from differences(found[key], wanted[key], f"{at}.{key}")
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for j, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, f"{at}[{j}]")
    elif type(found) is not type(wanted) or found != wanted:
        yield f"{at}: {found!r}, was {wanted!r}"


_NAMED = (".estimates", ".undefined", ".models")
"""Objects whose keys are names of what was estimated: a new one is another result."""


def _old(found: dict[str, Any], wanted: dict[str, Any], at: str) -> list[str]:
    """The keys of an object, but for new ones in what a verb prints."""
    printed = re.match(r"\.steps\[\d+\]\.out", at) and not at.endswith(_NAMED)
    return [key for key in found if key in wanted] if printed else list(found)


Dump = dict[str, list[dict[str, Any]]]


def dump(path: Path, *, but: frozenset[str] = frozenset()) -> Dump:
    """All rows of all tables and the statements that made them, without the columns named."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        made = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        tables = {"sqlite_master": [dict(row) for row in made]}
        for name in (row["name"] for row in made if row["type"] == "table"):
            rows = [dict(row) for row in database.execute(f'SELECT * FROM "{name}"')]  # noqa: S608  a table's name
            kept = [{key: value for key, value in row.items() if key not in but} for row in rows]
            tables[name] = sorted(kept, key=repr)
    return tables


def kept(now: Dump, before: Dump) -> bool:
    """Whether a database holds what it held.

    Not compared: how often the predictions of a run changed and columns that follow from them, the key of
    question ids, the random id of the database, and the index of words, which follows from the items.
    """
    content = {name for name in now.keys() | before.keys() if not name.startswith("item_words")}
    content -= {"run_version", "run_columns", "question_key", "database_mark"}
    return all(now.get(name) == before.get(name) for name in content)


def dump_upgraded(study: str, folder: Path, *, but: frozenset[str] = frozenset()) -> Dump:
    """All rows of a study that was upgraded, and that no verb has read."""
    path = folder / "upgraded.db"
    path.write_bytes(read_upgraded(study))
    return dump(path, but=but)


@pytest.mark.filterwarnings("ignore:No artists with labels found")  # if no model has an estimate to plot
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.study}-{case.name}")
def test_verb_prints_and_stores_what_it_did_before(case: Case, tmp_path: Path) -> None:
    wanted = json.loads(case.expected.read_text(encoding="utf-8"))
    found = json.loads(json.dumps(play(case, tmp_path)))
    assert list(differences(found, wanted)) == []
    if case.kind == "reads":
        step = frozenset({"step"})  # a column that the version which wrote the study did not have
        now = dump(tmp_path / case.study / "study.db", but=step)
        assert kept(now, dump_upgraded(case.study, tmp_path, but=step))


@pytest.mark.parametrize("verb", HELP)
def test_help_is_as_stored(verb: str) -> None:
    wanted = (ROOT / "help" / f"{verb.replace(' ', '-') or 'oversight'}.txt").read_text(encoding="utf-8")
    assert play_help(verb).split() == wanted.split()  # other versions of Python break lines elsewhere


@pytest.mark.parametrize("study", [study for study, table in STUDIES.items() if table.get("alone", True)])
def test_the_same_verbs_write_the_same_database(study: str, tmp_path: Path) -> None:
    folder = copied(study, tmp_path, fresh=True)
    with inside(folder):
        for line in STUDIES[study]["written"]:
            assert call(words_of(line, folder))[0] == 0, line
    measured = frozenset({"created", "seconds", "step"})
    now, before = dump(folder / "study.db", but=measured), dump_upgraded(study, tmp_path, but=measured)
    del now["audit_event"], before["audit_event"]  # the version that wrote the study had no audit trail
    for question in now["question"]:  # that version stored neither places nor steps of questions
        question["place"] = None
    assert kept(now, before)


def test_the_console_script_is_the_root_command(capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = entry_points(group="console_scripts", name="oversight")
    assert script.load() is main
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"oversight {VERSION}\n"


def test_every_stored_output_belongs_to_a_case() -> None:
    known = {case.expected for case in CASES}
    assert {path for study in STUDIES for path in (ROOT / study / "expected").iterdir()} == known
    assert {path.stem for path in (ROOT / "help").iterdir()} == {
        verb.replace(" ", "-") or "oversight" for verb in HELP
    }
