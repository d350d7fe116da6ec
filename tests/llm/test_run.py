"""The runner against a server that fails in every way the protocol allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import oversight as ov
from oversight.harness import ConfigError, FatalModelError
from oversight.harness.types import Item, PredictionStatus
from tests.fakes.openai_server import Reply, fake_openai

TEMPLATE = "$text of $names?"


def run(url: str, items: list[Item], store: Path, **settings: Any) -> list[ov.Prediction]:
    options: dict[str, Any] = {"endpoint": url, "tries": 4, "concurrency": 3, **settings}
    return ov.run("fake", items, store=str(store), template=TEMPLATE, **options)


def test_answers_become_options_in_source_order(items: list[Item], tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("A" if "text 0" in prompt else "green")) as server:
        predictions = run(server.url, items, tmp_path / "s.db")
    assert [p.option for p in predictions] == [2, 1, 1, 1, 1, 1]  # A is shown first: options[2]
    assert {(p.input_tokens, p.output_tokens, p.attempts) for p in predictions} == {(7, 3, 1)}


def test_a_second_run_makes_no_call(items: list[Item], tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red")) as server:
        first = run(server.url, items, tmp_path / "s.db")
        assert run(server.url, items, tmp_path / "s.db") == first
        assert len(server.prompts) == len(items)


def test_another_template_is_another_run(items: list[Item], tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red")) as server:
        run(server.url, items, tmp_path / "s.db")
        ov.run("fake", items, store=str(tmp_path / "s.db"), template="$text!", endpoint=server.url)
        assert len(server.prompts) == 2 * len(items)


@pytest.mark.parametrize(
    "fault",
    [
        Reply(status=429, body='{"error": {"message": "slow down"}}', headers={"Retry-After": "0"}),
        Reply(status=500, body="oops", headers={"Retry-After": "0"}),
        Reply(status=503, body="", headers={"Retry-After": "0.01"}),
        Reply(drop=True),
        Reply(body="{not json"),
        Reply(body='{"choices": []}'),
        Reply(body='{"detail": "a proxy says hello"}'),
        Reply(body="[]"),
        Reply(body='{"choices": [{"index": 0}]}'),
    ],
    ids=["429", "500", "503", "dropped", "malformed", "no-choices", "other-json", "list", "no-message"],
)
def test_passing_faults_are_tried_again(fault: Reply, items: list[Item], tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: fault if n < 2 else Reply("blue")) as server:
        predictions = run(server.url, items, tmp_path / "s.db")
    assert [p.option for p in predictions] == [2] * 6
    assert sum(p.attempts for p in predictions) == 8


def test_an_item_that_always_fails_is_recorded_with_the_last_error(items: list[Item], tmp_path: Path) -> None:
    def answer(prompt: str, n: int) -> Reply:
        if "text 3" in prompt:
            return Reply(status=500, body=f"broken {n}", headers={"Retry-After": "0"})
        return Reply("red")

    with fake_openai(answer) as server:
        predictions = run(server.url, items, tmp_path / "s.db")
    failed = [p for p in predictions if p.status is PredictionStatus.FAILED]
    assert [p.item_id for p in failed] == ["i3"]
    assert "HTTP 500" in failed[0].reason
    assert failed[0].option is None
    assert failed[0].attempts == 4


def test_a_refused_key_stops_the_run(items: list[Item], tmp_path: Path) -> None:
    body = json.dumps({"error": {"message": "refused"}})
    with fake_openai(lambda prompt, n: Reply("red") if n < 2 else Reply(status=401, body=body)) as server:
        with pytest.raises(FatalModelError, match="check the key in OPENAI_API_KEY"):
            run(server.url, items, tmp_path / "s.db", concurrency=1)
        assert len(server.prompts) == 3
        server.answer = lambda prompt, n: Reply("red")
        assert len(run(server.url, items, tmp_path / "s.db")) == 6
        assert len(server.prompts) == 3 + 4  # the two finished items were not repeated


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(""), "empty"),
        (Reply("", finish_reason="content_filter"), "content filter"),
        (Reply("red or green"), "several"),
    ],
)
def test_unreadable_answers_say_why(reply: Reply, reason: str, items: list[Item], tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: reply) as server:
        predictions = run(server.url, items, tmp_path / "s.db")
    assert {(p.status, p.reason, p.option) for p in predictions} == {
        (PredictionStatus.UNREADABLE, reason, None)
    }


def test_the_key_is_sent_and_never_stored(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with fake_openai(lambda prompt, n: Reply("red")) as server:
        run(server.url, items, tmp_path / "s.db", api_key_env="MY_KEY")
        assert set(server.keys) == {"Bearer sk-very-secret"}
    assert all(b"sk-very-secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_missing_key_is_named_before_anything_is_sent(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        ov.run("gpt", items, store=str(tmp_path / "s.db"))
