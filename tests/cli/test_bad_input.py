"""Every kind of bad input: one line that names file, line, field and the mend; exit 2; nothing changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.cli.main import main

STUDY = """\
[study]
name = "t"
[items]
file = "items.csv"
classes = ["red", "green", "blue"]
[models.m]
endpoint = "http://127.0.0.1:9/v1"
model = "m"
tries = 1
"""
ROSTER = "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in ("red", "green", "blue"))
ITEMS = "id,text\n" + "".join(f"i{j},text {j}\n" for j in range(9))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good study with routed questions and one imported answer."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("experts.toml").write_text(ROSTER)
    Path("items.csv").write_text(ITEMS)
    Path("key.csv").write_text("id,label\n" + "".join(f"i{j},red\n" for j in range(9)))
    assert main(["label", "route"]) == 0
    assert main(["label", "export"]) == 0
    answer(Path("questions/questions-red.csv"), "no", rows=1)
    assert main(["label", "import", "questions/questions-red.csv"]) == 0
    return tmp_path


def answer(path: Path, verdict: str, rows: int = 99) -> None:
    lines = path.read_text().splitlines()
    lines[1 : 1 + rows] = [line.removesuffix(",,") + f",{verdict}," for line in lines[1 : 1 + rows]]
    path.write_text("\n".join(lines) + "\n")


def edit(name: str, old: str, new: str) -> Callable[[], None]:
    def change() -> None:
        text = Path(name).read_text()
        assert old in text
        Path(name).write_text(text.replace(old, new, 1))

    return change


def put(name: str, data: bytes | str) -> Callable[[], None]:
    return lambda: (Path(name).write_bytes(data if isinstance(data, bytes) else data.encode()), None)[1]


def in_store(sql: str) -> Callable[[], None]:
    def change() -> None:
        connection = sqlite3.connect("study.db")
        connection.execute(sql)
        connection.commit()
        connection.close()

    return change


def first_question(verdict: str, **fields: str) -> Callable[[], None]:
    """Write a file with the first open question of the expert red, changed in some fields."""

    def change() -> None:
        header, *rows = Path("questions/questions-green.csv").read_text().splitlines()
        values = dict(zip(header.split(","), rows[0].split(","), strict=True))
        values.update(fields, answer=verdict)
        Path("bad.csv").write_text(header + "\n" + ",".join(values.values()) + "\n")

    return change


def two_answers() -> None:
    first_question("yes")()
    text = Path("bad.csv").read_text()
    Path("bad.csv").write_text(text + text.splitlines()[1].replace(",yes,", ",no,") + "\n")


def other_answer_than_before() -> None:
    shutil.copy("questions/questions-red.csv", "bad.csv")
    edit("bad.csv", ",no,", ",yes,")()


def parquet_cut_short() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": ["a"], "text": ["t"]}), "items.parquet")
    Path("items.parquet").write_bytes(Path("items.parquet").read_bytes()[:-9])
    edit("study.toml", "items.csv", "items.parquet")()


def own_options(row: dict[str, object]) -> Callable[[], None]:
    def change() -> None:
        Path("items.jsonl").write_text(
            json.dumps({"id": "a", "text": "t", "options": ["x", "y"]}) + "\n" + json.dumps(row)
        )
        edit("study.toml", 'file = "items.csv"\nclasses = ["red", "green", "blue"]', 'file = "items.jsonl"')()

    return change


@dataclass(frozen=True)
class Bad:
    name: str
    change: Callable[[], object]
    command: str
    message: str
    code: int = 2


CHECK, ROUTE, RUN = "items check", "label route", "run"
IMPORT = "label import bad.csv"
CASES = [
    Bad("no study", lambda: Path("study.toml").unlink(), CHECK, "study.toml: there is no such study file"),
    Bad("broken TOML", put("study.toml", "[study\n"), CHECK, "study.toml:1: not valid TOML"),
    Bad(
        "unknown key",
        edit("study.toml", "[models.m]", "colour = 1\n[models.m]"),
        CHECK,
        "study.toml:6 [items.colour]: unknown key",
    ),
    Bad(
        "unknown section",
        put("study.toml", STUDY + "[modles]\n"),
        CHECK,
        "study.toml:10 [modles]: unknown key",
    ),
    Bad(
        "wrong type",
        edit("study.toml", '"items.csv"', "7"),
        CHECK,
        "study.toml:4 [items.file]: input should be a valid string, is 7",
    ),
    Bad("section missing", put("study.toml", '[items]\nfile = "items.csv"'), CHECK, "[study]: is missing"),
    Bad(
        "level of 1",
        put("study.toml", STUDY + "[estimate]\nlevel = 1.0\n"),
        CHECK,
        "study.toml:11 [estimate.level]",
    ),
    Bad("K = 1", edit("study.toml", '"red", "green", "blue"', '"red"'), CHECK, "at least 2 classes"),
    Bad("class twice", edit("study.toml", '"green"', '"red"'), CHECK, "a class is there twice"),
    Bad(
        "no source",
        edit("study.toml", 'file = "items.csv"', ""),
        CHECK,
        "give a file, a preset or a hub data set",
    ),
    Bad(
        "unknown preset",
        edit("study.toml", "file =", 'preset = "nope"\nfile ='),
        CHECK,
        "there is no preset 'nope'",
    ),
    Bad("no items file", lambda: Path("items.csv").unlink(), CHECK, "items.csv: there is no such file"),
    Bad("no items", put("items.csv", "id,text\n"), CHECK, "items.csv: there are no items in it"),
    Bad(
        "missing column",
        edit("items.csv", "id,text", "id,body"),
        CHECK,
        "items.csv:2 [text]: there is no such column; there are: id, body",
    ),
    Bad(
        "duplicate id",
        edit("items.csv", "i3,", "i1,"),
        CHECK,
        "items.csv:5 [id]: the id 'i1' was used in line 3",
    ),
    Bad("empty text", edit("items.csv", "text 4", " "), CHECK, "items.csv:6 [text]: is empty"),
    Bad("wrong encoding", put("items.csv", b"id,text\na,caf\xe9\n"), CHECK, "items.csv:2: not UTF-8"),
    Bad(
        "ragged row",
        put("items.csv", "id,text\na,b,c\n"),
        CHECK,
        "items.csv:2: 3 values where the header has 2",
    ),
    Bad("truncated Parquet", parquet_cut_short, CHECK, "items.parquet:1: not a whole Parquet file"),
    Bad(
        "one option",
        own_options({"id": "b", "text": "t", "options": ["x"]}),
        CHECK,
        "items.jsonl:2 [options]: an item needs at least 2",
    ),
    Bad(
        "option twice",
        own_options({"id": "b", "text": "t", "options": ["x", "X"]}),
        CHECK,
        "items.jsonl:2 [options]: the option 'X' is there twice",
    ),
    Bad(
        "changed item",
        edit("items.csv", "text 2", "text two"),
        ROUTE,
        "the item 'i2' is stored with another text",
    ),
    Bad(
        "no roster",
        lambda: Path("experts.toml").unlink(),
        ROUTE,
        "experts.toml: there is no such roster file",
    ),
    Bad(
        "expert for an unknown class",
        edit("experts.toml", '["red"]', '["pink"]'),
        ROUTE,
        "unknown class 'pink'; classes are red, green, blue",
    ),
    Bad(
        "class without expert",
        edit("experts.toml", 'classes = ["blue"]', 'classes = ["red"]'),
        ROUTE,
        "no expert is there for the class 'blue'",
    ),
    Bad(
        "absent expert",
        edit("experts.toml", 'classes = ["blue"]', 'classes = ["blue"]\nabsent = true'),
        ROUTE,
        "no expert is there for the class 'blue'",
    ),
    Bad(
        "name twice",
        edit("experts.toml", 'name = "green"', 'name = "red"'),
        ROUTE,
        "[expert 2]: the name 'red' is used twice",
    ),
    Bad(
        "no capacity",
        edit("experts.toml", 'classes = ["blue"]', 'classes = ["blue"]\ncapacity = 1'),
        ROUTE,
        "at capacity",
    ),
    Bad(
        "seed changed",
        edit("study.toml", 'name = "t"', 'name = "t"\nseed = 9'),
        ROUTE,
        "cannot change once questions are drawn",
    ),
    Bad(
        "unasked question",
        first_question("no", question_id="0000"),
        IMPORT,
        "bad.csv:2 [question_id]: the question '0000' was never asked",
    ),
    Bad(
        "another's question",
        first_question("no", expert="mallory"),
        IMPORT,
        "bad.csv:2 [expert]: the question was put to 'green', not to 'mallory'",
    ),
    Bad(
        "verdict maybe",
        first_question("maybe"),
        IMPORT,
        "bad.csv:2 [answer]: must be yes, no, unsure or skip, is 'maybe'",
    ),
    Bad("two answers", two_answers, IMPORT, "bad.csv:3 [answer]: second answer 'no'; the first was 'yes'"),
    Bad("other than before", other_answer_than_before, IMPORT, "was answered 'no' before and now 'yes'"),
    Bad(
        "foreign file",
        put("bad.csv", "a,b\n1,2\n"),
        IMPORT,
        "bad.csv:2 [question_id]: there is no such column",
    ),
    Bad("files there", lambda: None, "label export", "is there already and may hold answers"),
    Bad("no key", lambda: None, "label simulate", "give the sealed key with --key FILE"),
    Bad(
        "key lacks an item",
        put("key.csv", "id,label\ni0,red\n"),
        "label simulate --key key.csv",
        "key.csv:2 [id]: no answer for 8 items",
    ),
    Bad(
        "impossible rate",
        lambda: None,
        "label simulate --key key.csv --abstention 2",
        "abstention must be a probability, is 2.0",
    ),
    Bad("unknown model", lambda: None, "run --model large", "there is no model 'large'; there are: m"),
    Bad(
        "no model", edit("study.toml", STUDY[STUDY.index("[models") :], ""), RUN, "study.toml names no model"
    ),
    Bad(
        "no API key",
        edit("study.toml", "http://127.0.0.1:9/v1", "https://example.org/v1"),
        RUN,
        "environment variable OPENAI_API_KEY is not set",
    ),
    Bad(
        "no template",
        put("study.toml", STUDY + '[prompt]\ntemplate = "p.txt"\n'),
        RUN,
        "p.txt: the prompt template cannot be read",
    ),
    Bad(
        "template with an unknown field",
        lambda: (
            put("p.txt", "$text $label")(),
            put("study.toml", STUDY + '[prompt]\ntemplate = "p.txt"\n')(),
        ),
        RUN,
        "unknown field $label",
    ),
    Bad("no predictions", lambda: None, "estimate", "no model was run yet"),
    Bad(
        "no database",
        put("study.db", b"not a database at all" * 99),
        "label status",
        "the database cannot be used: file is not a database",
    ),
    Bad(
        "newer schema",
        in_store("UPDATE alembic_version SET version_num = '9999'"),
        "label status",
        "written by a newer version of oversight (schema 9999",
    ),
    Bad("unknown verb", lambda: None, "lable", "there is no verb 'lable'"),
    Bad("init over a study", lambda: None, "init", "study.toml is there already"),
]


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.name)
def test_bad_input(
    bad: Bad, study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    bad.change()
    before = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in study.rglob("*") if p.is_file()}
    capsys.readouterr()
    code = main(bad.command.split())
    out, err = capsys.readouterr()
    assert (code, out) == (bad.code, ""), err
    assert bad.message in err
    assert len(err.strip().splitlines()) == 1
    after = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in study.rglob("*") if p.is_file()}
    assert after == before


def test_the_error_is_json_for_programs(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["run", "--model", "large", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["kind"] == "ConfigError"


def test_an_unreachable_endpoint_is_named_before_any_item_is_asked(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["run", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error.startswith("http://127.0.0.1:9/v1 cannot be reached")
    connection = sqlite3.connect("study.db")
    assert connection.execute("SELECT count(*) FROM prediction").fetchone() == (0,)
    connection.close()
