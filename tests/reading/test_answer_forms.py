"""The forms of answers through ``oversight run``, and stored replies read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

Oversight = Callable[..., Any]
N = 20


@pytest.fixture
def lay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(N)))

    def write(server: FakeOpenAI, prompt: str = "") -> None:
        Path("study.toml").write_text(
            '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
            f'[prompt]\n{prompt}\n[models.m]\nmodel = "m"\nendpoint = "{server.url}"\nconcurrency = 2\n'
        )

    return write


def read_rows(oversight: Oversight) -> list[dict[str, Any]]:
    oversight("predictions", "export", "rows.jsonl")
    return [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]


def test_the_prompts_of_a_new_study_ask_for_a_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\na,one\nb,two\n")
    oversight("init", "--items", "items.csv", "--classes", "red,green", "fixed")
    Path("own.jsonl").write_text('{"id": "a", "text": "one", "options": ["x", "y"]}\n')
    oversight("init", "--items", "own.jsonl", "own")
    assert "\nANSWER: one of $names" in Path("fixed/prompt.txt").read_text()
    assert "\nANSWER: one of the letters $letters" in Path("own/prompt.txt").read_text()


def test_steps_are_stored_and_counted_with_a_note_on_loose_ones(
    lay_out: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["Warm.\nANSWER: red", "red", "I would go with red.", r"So \boxed{red}", "It isn't red."]
    with fake_openai(lambda p, n: Reply(texts[int(p.split("number ")[1].split(".")[0]) % 5])) as server:
        lay_out(server)
        found = oversight("run")["models"]["m"]
    assert found["read_by"] == {"form": 4, "mark": 4, "statement": 4, "whole": 4}
    assert found["kinds"] == {"unreadable: denied": 4}
    assert {row["step"] for row in read_rows(oversight)} == {"form", "mark", "statement", "whole", ""}
    assert main(["run"]) == 0
    told = capsys.readouterr().out
    assert "answers were read: 4 in the form asked for, 4 by another" in told
    assert "25.0 % of the answers were read from free statements" in told
    assert "4 × unreadable: only says what the answer is not" in told


def answer_by_constraint(known: str | None) -> Callable[[dict[str, Any]], str]:
    def answer(request: dict[str, Any]) -> str:
        if known is None or known not in request:
            return "Sure! Let me think about that."
        held = request[known]
        texts = held["choice"] if isinstance(held, dict) else held
        if isinstance(texts, str):
            texts = texts.removeprefix("root ::= ").strip("()").replace("\\", "").split("|")
        return str(texts[0]).strip().strip('"')

    return answer


@pytest.mark.parametrize("known", ["structured_outputs", "guided_choice", "regex", "grammar"])
def test_a_choice_is_asked_for_as_the_server_takes_it(
    known: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    answer = answer_by_constraint(known)
    with fake_openai(lambda p, n: Reply(answer(server.requests[-1]))) as server:
        lay_out(server, 'answer = "choice"')
        Path("study.toml").write_text(
            Path("study.toml").read_text().replace("concurrency = 2", "concurrency = 1")
        )
        found = oversight("run")["models"]["m"]
        assert found["read_by"] == {"form": N}
        calls = len(server.requests)
        assert calls <= N + 4
        assert oversight("run")["models"]["m"]["asked_now"] == 0
        assert len(server.requests) == calls


def test_a_choice_that_no_server_keeps_is_refused_by_name(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: Reply("red, I think")) as server:
        lay_out(server, 'answer = "choice"')
        told = oversight("run", code=2)["error"]
    assert 'answer = "choice"' in told
    assert 'use "schema" or "line"' in told


def test_a_schema_is_asked_for_and_an_endpoint_without_one_is_refused(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    def answer(prompt: str, n: int) -> Reply:
        schema = server.requests[-1]["response_format"]["json_schema"]["schema"]
        return Reply(json.dumps({"answer": schema["properties"]["answer"]["enum"][0]}))

    with fake_openai(answer) as server:
        lay_out(server, 'answer = "schema"')
        Path("study.toml").write_text(
            Path("study.toml").read_text().replace("concurrency = 2", "concurrency = 1")
        )
        assert oversight("run")["models"]["m"]["read_by"] == {"form": N}
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server, 'answer = "schema"')
        Path("study.db").unlink()
        assert "does not follow a JSON Schema" in oversight("run", code=2)["error"]


@pytest.mark.parametrize("pattern", ["(answer", "answer: (.*)"])
def test_a_pattern_that_cannot_be_used_is_named(
    pattern: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server, f"pattern = '{pattern}'")
        told = oversight("run", code=2)["error"]
        assert server.prompts == []
    assert "prompt.pattern" in told


def test_stored_replies_are_read_again_without_a_call(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: Reply("v>green red")) as server:
        lay_out(server)
        oversight("run")
        assert {row["status"] for row in read_rows(oversight)} == {"unreadable"}
        before = read_rows(oversight)
        pattern = r"v>(?P<answer>\w+)"
        lay_out(server, f"pattern = '{pattern}'")
        shown = oversight("predictions", "reread")
        assert shown["runs"][0]["changes"] == {"unreadable → option": N}
        assert read_rows(oversight) == before
        oversight("predictions", "reread", "--write")
        after = read_rows(oversight)
        assert {(row["option_text"], row["step"], row["reason"]) for row in after} == {("green", "form", "")}
        kept = ("item_id", "raw", "input_tokens", "output_tokens", "attempts", "seconds", "source")
        assert [[row[k] for k in kept] for row in after] == [[row[k] for k in kept] for row in before]
        again = oversight("predictions", "reread", "--write")["runs"][0]
        assert (again["answers"], again["changes"], again["noted"]) == (N, {}, 0)
        assert oversight("run")["models"]["m"]["asked_now"] == 0
        assert len(server.prompts) == N


def test_an_answer_read_by_another_program_is_kept(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server)
    rows = [
        {"id": "i0", "prediction": "red", "raw": "I say green"},
        {"id": "i1", "raw": "I would go with blue."},
    ]
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert oversight("predictions", "import", "log.jsonl", "--model", "x")["read_by"] == {
        "log": 1,
        "statement": 1,
    }
    [run] = oversight("predictions", "reread", "--write")["runs"]
    assert (run["answers"], run["left"], run["changes"]) == (1, 1, {})
    assert [row["option_text"] for row in read_rows(oversight)] == ["red", "blue"]


@pytest.mark.parametrize("words", ["export x.csv --write", "reread x.csv", "import x.csv", "export"])
def test_arguments_of_other_actions_are_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["predictions", *words.split()])
    assert "arguments" in capsys.readouterr().err


def test_a_table_is_read_again_in_the_order_of_its_options(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    """Models and experts see the options shuffled; a table's letters count in the order of the source."""
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server, r"pattern = 'v>(?P<answer>\w)'")
    Path("log.jsonl").write_text("".join(f'{{"id": "i{j}", "raw": "v>B C"}}\n' for j in range(N)))
    oversight("predictions", "import", "log.jsonl", "--model", "x")
    oversight("predictions", "reread", "--write")
    assert {row["option_text"] for row in read_rows(oversight)} == {"green"}
