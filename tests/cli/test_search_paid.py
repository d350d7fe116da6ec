"""A continued search counts its earlier costs, and an unreadable reply does not end a search."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from oversight.harness.cli.main import main
from tests.cli.search_study import answer, lay_out
from tests.cli.test_search_faults import number_of
from tests.fakes.openai_server import Reply, fake_openai

CAP = 5_000


def test_replies_that_were_cut_count_when_a_search_goes_on(tmp_path: Path, oversight: Any) -> None:
    def cutting(prompt: str, n: int) -> Reply:
        is_cut = int(number_of(prompt)) % 2
        return Reply('{"think', finish_reason="length", billed=(100, 200)) if is_cut else answer(prompt, n)

    with fake_openai(cutting) as server:
        lay_out(tmp_path, server.url, concurrency=4)
        for _ in range(4):
            oversight("search", "start", "--set", f"search.tokens={CAP}", "--study", tmp_path / "study.toml")
        with sqlite3.connect(tmp_path / "study.db") as database:
            ((stored,),) = database.execute("SELECT sum(input_tokens + output_tokens) FROM call")
        assert 0 < stored == sum(map(sum, server.bill)) <= CAP


def test_a_fatal_error_sends_nothing_of_what_waits(tmp_path: Path) -> None:
    with fake_openai(lambda p, n: answer(p, n) if n < 8 else Reply("no", status=401)) as server:
        lay_out(tmp_path, server.url, concurrency=4, n=200)
        assert main(["search", "start", "--study", str(tmp_path / "study.toml")]) == 2
        assert len(server.prompts) <= 8 + 4


def test_a_reply_that_is_nested_too_deep_is_wrong_and_ends_no_search(tmp_path: Path, oversight: Any) -> None:
    def nesting(prompt: str, n: int) -> Reply:
        j = int(number_of(prompt))
        depth = 880 + 4 * j  # near the depth that Python can read but not write
        deep = '{"answer": ' * depth + "1" + "}" * depth
        return answer(prompt, n) if j % 3 else Reply(f'{{"thinking": "x", "answer": {deep}}}')

    with fake_openai(nesting) as server:
        lay_out(tmp_path, server.url, concurrency=4)
        # these replies are long, so the default cap would end the search
        words = ("search", "start", "--set", "search.tokens=10000000", "--study", tmp_path / "study.toml")
        found = oversight(*words)["search"]
    assert found["winner"]


def test_half_a_surrogate_pair_without_usage_ends_no_search(tmp_path: Path, oversight: Any) -> None:
    message = {"content": '{"thinking": "\ud800", "answer": "A"}'}
    odd = Reply(body=json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))
    with fake_openai(lambda p, n: odd if int(number_of(p)) % 3 == 0 else answer(p, n)) as server:
        lay_out(tmp_path, server.url, concurrency=4)
        found = oversight("search", "start", "--study", tmp_path / "study.toml")["search"]
        calls = len(server.prompts)
        oversight("search", "resume", "--study", tmp_path / "study.toml")
        assert found["winner"]
        assert len(server.prompts) == calls
