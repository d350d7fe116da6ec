"""A key that a server echoes, a password in a wrong field, escape sequences: none comes through."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from tests.cli.bad import ITEMS, STUDY
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

KEY = "sk-Live-0123456789"
SEQUENCE = "\x1b[2J\x1b]0;owned\x07"


def error(status: int, message: str) -> Reply:
    return Reply(status=status, body=json.dumps({"error": {"message": message}}))


REPLIES: dict[str, Reply] = {
    "in an answer": Reply(f"red, and the key is {KEY}"),
    "in the model's name": Reply("red", model=f"m {KEY} {SEQUENCE}"),
    "in a passing error": error(500, f"no {KEY} today {SEQUENCE}"),
    "in a lasting error": error(401, f"{KEY} is refused {SEQUENCE}\noversight: all is well"),
    "in a page": Reply(status=502, body=f"<p>{SEQUENCE} Bearer {KEY}</p>"),
    "in broken JSON": Reply(body=f'{{"{SEQUENCE}{KEY}": '),
    "in a wrong field": Reply(body=json.dumps({"choices": [{"message": {"content": [SEQUENCE, KEY]}}]})),
}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeOpenAI], None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    Path("items.csv").write_text(ITEMS)
    return lambda server: (
        Path("study.toml").write_text(STUDY.replace("http://127.0.0.1:9/v1", server.url)),
        None,
    )[1]


@pytest.mark.parametrize("where", list(REPLIES))
@pytest.mark.parametrize("words", [["run"], ["run", "--json"]], ids=["text", "json"])
def test_an_echoed_key_and_sequences_come_through_nowhere(
    where: str, words: list[str], study: Callable[[FakeOpenAI], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(lambda prompt, n: REPLIES[where]) as server:
        study(server)
        main(words)
        assert server.keys[0] == f"Bearer {KEY}"
    out, err = capsys.readouterr()
    assert KEY not in out + err
    assert not {"\x1b", "\x07"} & set(out + err)
    assert "\noversight: all is well" not in out + err
    if "--json" in words:
        json.loads(out)
    assert KEY.encode() not in b"".join(p.read_bytes() for p in Path().glob("study.db*"))


def test_an_answer_with_the_key_is_kept_without_it(study: Callable[[FakeOpenAI], None]) -> None:
    with fake_openai(lambda prompt, n: REPLIES["in an answer"]) as server:
        study(server)
        assert main(["run"]) == 0
    connection = sqlite3.connect("study.db")
    raw = connection.execute("SELECT raw FROM prediction").fetchone()
    connection.close()
    assert raw == ("red, and the key is [redacted]",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "t"', 'name = "t"\nstore = ["postgresql://ana:hunter22@db/s"]', "ana:***@db"),
        ('name = "t"', 'name = "t"\nstore = "postgresql://ana:hunter22@db:x/s"', "ana:***@db"),
        ('name = "t"', 'name = "t"\nseed = "postgresql://ana:hunter22@db/s"', "ana:***@db"),
        ('model = "m"', 'model = "m"\napi_key_env = "hunter22-key"', "[models.m.api_key_env]"),
        ('model = "m"', 'model = "m"\napi_key_env = ["hunter22"]', "[models.m.api_key_env]"),
        (
            '"http://127.0.0.1:9/v1"',
            '"http://ana:hunter22@127.0.0.1:9/v1"',
            "must not contain a user or a password",
        ),
        ('"http://127.0.0.1:9/v1"', '["http://ana:hunter22@127.0.0.1:9/v1"]', "ana:***@127"),
    ],
)
def test_a_wrong_field_does_not_show_a_password(
    old: str, new: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text(ITEMS)
    Path("study.toml").write_text(STUDY.replace(old, new, 1))
    for words in (["estimate"], ["run", "--json"]):
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert message in err
        assert "hunter22" not in out + err
        assert "Traceback" not in err
