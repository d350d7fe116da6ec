"""Replay a candidate's calls on an item from the stored calls only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.agents.search.view.candidate import read_candidate
from oversight.agents.search.view.exported import read_candidate_item
from oversight.agents.search.view.listed_searches import read_searches
from oversight.harness import BadInput
from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import fake_openai


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    with fake_openai(answer) as server:
        lay_out(folder, server.url, concurrency=4)
        assert main(["search", "start", "--study", str(folder / "study.toml"), "--json"]) == 0
    return folder


@pytest.fixture
def rows(searched: Path) -> Iterator[Any]:
    """The database's rows of calls, put back as they were."""
    engine = sa.create_engine(f"sqlite:///{searched / 'study.db'}")
    with engine.begin() as connection:
        connection.execute(sa.text("create table kept as select * from call"))
    yield engine
    with engine.begin() as connection:
        connection.execute(sa.text("delete from call"))
        connection.execute(sa.text("insert into call select * from kept"))
        connection.execute(sa.text("drop table kept"))
    engine.dispose()


def read(folder: Path, function: Any, **params: str) -> dict[str, Any]:
    study = read_study(folder / "study.toml")
    with Store(study.store_url) as store:
        found: dict[str, Any] = function(study, store, **params)
    json.dumps(found, allow_nan=False)
    return found


def answered(folder: Path) -> tuple[str, dict[str, Any]]:
    winner = read(folder, read_searches)["search"]["winner"]
    return winner, read(folder, read_candidate, id=winner)["items"]["rows"][0]


def test_every_answer_of_every_candidate_is_told_again_as_it_was(searched: Path) -> None:
    before = (searched / "study.db").read_bytes()
    for candidate in read(searched, read_searches)["search"]["rows"]:
        for row in read(searched, read_candidate, id=candidate["id"])["items"]["rows"][:5]:
            found = read(searched, read_candidate_item, id=candidate["id"], item=row["id"])
            assert (found["missing"], found["ended"], found["is_same"]) == ([], "", True)
            assert found["answer"]["option"] == row["option"]
            sums = [sum(call[name] for call in found["calls"]) for name in ("input_tokens", "output_tokens")]
            assert sums == [found["input_tokens"], found["output_tokens"]]
            number = re.sub(r"\D", "", row["id"])
            for call in found["calls"]:
                assert f"number {number}." in call["messages"][-1]["text"]
                assert call["reply"]
    assert (searched / "study.db").read_bytes() == before


def test_a_call_that_is_not_stored_ends_the_replay_with_a_remark(searched: Path, rows: Any) -> None:
    winner, row = answered(searched)
    with rows.begin() as connection:
        connection.execute(sa.text("delete from call"))
    found = read(searched, read_candidate_item, id=winner, item=row["id"])
    assert "is not stored" in found["ended"]
    assert found["is_same"] is None
    assert [call["reply"] for call in found["calls"]] == [""]
    assert "is not stored" in found["calls"][0]["error"]


def test_a_call_that_failed_is_told_as_it_failed(searched: Path, rows: Any) -> None:
    winner, row = answered(searched)
    with rows.begin() as connection:
        connection.execute(sa.text("update call set error = 'HTTP 503', reply = ''"))
    found = read(searched, read_candidate_item, id=winner, item=row["id"])
    assert found["calls"][0]["error"] == "HTTP 503"
    assert (found["ended"], found["is_same"]) == ("", False)


def test_a_hostile_reply_stays_a_text_and_a_long_one_is_cut(searched: Path, rows: Any) -> None:
    winner, row = answered(searched)
    hostile = '</script><img src=x onerror=alert(1)>{"answer": "A"}'
    for reply in (hostile, "x" * 100_000):
        with rows.begin() as connection:
            connection.execute(sa.text("update call set reply = :reply"), {"reply": reply})
        found = read(searched, read_candidate_item, id=winner, item=row["id"])
        assert found["calls"][0]["reply"].startswith(reply[:20_000])
        assert len(json.dumps(found)) < 100_000


def test_a_program_that_the_gate_refuses_by_now_gives_a_reason(
    searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    winner, row = answered(searched)
    monkeypatch.setattr("oversight.agents.sandbox.gate.LONGEST", 10)
    found = read(searched, read_candidate_item, id=winner, item=row["id"])
    assert [missing["part"] for missing in found["missing"]] == ["the calls"]
    assert "longer than 10 characters" in found["missing"][0]["why"]
    assert found["answer"]["option"] == row["option"]


def test_no_key_and_no_endpoint_is_in_a_page(searched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    winner, row = answered(searched)
    for function, params in (
        (read_searches, {}),
        (read_candidate, {"id": winner}),
        (read_candidate_item, {"id": winner, "item": row["id"]}),
    ):
        text = json.dumps(read(searched, function, **params))
        assert "sk-very-secret" not in text
        assert "127.0.0.1" not in text
        assert "api_key" not in text


def test_an_unanswered_item_is_named(searched: Path) -> None:
    winner, row = answered(searched)
    for params, words in (
        ({"id": winner, "item": "x"}, "has no item 'x'"),
        ({"id": winner, "item": row["id"], "replicate": "7"}, "has no answer to"),
        ({"id": winner, "item": row["id"], "replicate": "-1"}, "a whole number"),
    ):
        with pytest.raises(BadInput, match=words):
            read(searched, read_candidate_item, **params)
