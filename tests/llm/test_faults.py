"""Every fault at 5, 20 and 50 %: each item ends in one row, none twice, none lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness import FatalModelError
from oversight.harness.errors import Fault
from oversight.harness.store import Store
from oversight.harness.types import Item, PredictionStatus
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

N = 120
ITEMS = [Item(f"i{j}", f"number {j}.", ("red", "green", "blue"), (0, 1, 2)) for j in range(N)]
QUICKLY = {"Retry-After": "0"}
SLOW_DATE = {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}
FAULTS: dict[str, Callable[[str, int], Reply]] = {
    "429": lambda p, n: Reply(status=429, body='{"error": {"message": "slow down"}}'),
    "429-seconds": lambda p, n: Reply(status=429, body="", headers=QUICKLY),
    "429-date": lambda p, n: Reply(status=429, body="", headers=SLOW_DATE),
    "500": lambda p, n: Reply(status=500, body="oops", headers=QUICKLY),
    "503": lambda p, n: Reply(status=503, body="", headers=QUICKLY),
    "reset": lambda p, n: Reply(drop=True),
    "slow body": lambda p, n: Reply("red", stall=0.6),
    "malformed": lambda p, n: Reply(body='{"choices": [{"message": {"content": "re'),
    "cut body": lambda p, n: Reply("red", missing=20),
    "truncated": lambda p, n: Reply("let me think about", finish_reason="length"),
    "wrong model": lambda p, n: Reply("blue", model="somebody-else"),
}


def ask(server: FakeOpenAI, store: Path, **settings: Any) -> list[ov.Prediction]:
    options: dict[str, Any] = {
        "concurrency": 32,
        "tries": 6,
        "timeout": 0.4,
        "max_tokens": 8,
        "answers_as": "fake",
    }
    return ov.run(
        "fake", ITEMS, store=str(store), template="$text", endpoint=server.url, **{**options, **settings}
    )


@pytest.mark.parametrize("share", [0.05, 0.2, pytest.param(0.5, marks=pytest.mark.slow)])
def test_all_faults_together_leave_one_row_per_item(share: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    kinds = list(FAULTS)

    def answer(prompt: str, n: int) -> Reply:
        return FAULTS[str(rng.choice(kinds))](prompt, n) if rng.random() < share else Reply("green")

    with fake_openai(answer) as server:
        found = ask(server, tmp_path / "s.db", timeout=5.0 if share < 0.5 else 0.4)
    _one_row_each(found)
    right = [p for p in found if p.status is PredictionStatus.OK]
    assert {p.option for p in right} <= {0, 1}  # never the option that the other model gave
    assert len(right) >= N * (0.9 if share < 0.5 else 0.6)
    for p in found:
        if p.status is not PredictionStatus.OK:
            assert p.status is PredictionStatus.TRUNCATED or p.kind in set(Fault), p.reason


@pytest.mark.parametrize("kind", list(FAULTS))
def test_single_faults_lose_no_item(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)

    def answer(prompt: str, n: int) -> Reply:
        return FAULTS[kind](prompt, n) if rng.random() < 0.2 else Reply("green")

    with fake_openai(answer) as server:
        found = ask(server, tmp_path / "s.db")
    _one_row_each(found)
    status = Counter(p.status for p in found)
    assert status[PredictionStatus.OK] >= N - (15 if kind == "truncated" else 3)
    assert sum(p.attempts for p in found) == len(server.prompts)


def test_a_refused_key_in_the_middle_stops_and_the_rest_follows_with_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def revoked(prompt: str, n: int) -> Reply:
        return Reply("green") if n < N / 2 else Reply(status=401, body='{"error": {"message": "revoked"}}')

    with fake_openai(revoked) as server:
        with pytest.raises(FatalModelError, match="revoked; check the key in OPENAI_API_KEY"):
            ask(server, tmp_path / "s.db")
        with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
            kept = store.count_rows()["prediction"]
        assert N / 2 - 32 <= kept <= N / 2
        server.answer = lambda prompt, n: Reply("green")
        # the server may still be reading calls of the first run
        monkeypatch.setenv("OPENAI_API_KEY", "another")
        _one_row_each(ask(server, tmp_path / "s.db"))
        assert server.keys.count("Bearer another") == N - kept


def test_cut_answer_is_requested_again_with_a_higher_limit(tmp_path: Path) -> None:
    def answer(prompt: str, n: int) -> Reply:
        return Reply("I think that", finish_reason="length") if n % 2 == 0 else Reply("The answer is blue")

    with fake_openai(answer) as server:
        [found] = ov.run("fake", ITEMS[:1], store=str(tmp_path / "s.db"), endpoint=server.url, max_tokens=8)
        assert [r["max_completion_tokens"] for r in server.requests] == [8, 32]
    assert (found.option, found.attempts, found.input_tokens, found.output_tokens) == (2, 2, 14, 6)


def test_a_cut_answer_is_not_guessed_from_its_beginning(tmp_path: Path) -> None:
    cut = Reply("At first sight the answer is red, but", finish_reason="length")
    with fake_openai(lambda prompt, n: cut) as server:
        [found] = ov.run("fake", ITEMS[:1], store=str(tmp_path / "s.db"), endpoint=server.url, max_tokens=8)
        assert len(server.prompts) == 2
    assert (found.status, found.reason) == (PredictionStatus.TRUNCATED, "cut by the token limit")


def test_a_filtered_prompt_is_an_answer_and_stops_nothing(tmp_path: Path) -> None:
    body = '{"error": {"code": "content_filter", "message": "filtered"}}'

    def answer(prompt: str, n: int) -> Reply:
        return Reply(status=400, body=body) if "number 3." in prompt else Reply("red")

    with fake_openai(answer) as server:
        found = ask(server, tmp_path / "s.db")
    assert [(p.item_id, p.kind) for p in found if p.option is None] == [("i3", "content filter")]


def test_account_without_credit_stops_the_run_immediately(tmp_path: Path) -> None:
    body = '{"error": {"code": "insufficient_quota", "message": "quota"}}'
    with fake_openai(lambda prompt, n: Reply(status=429, body=body)) as server:
        with pytest.raises(FatalModelError, match="the account of OPENAI_API_KEY has no credit left"):
            ask(server, tmp_path / "s.db", concurrency=1)
        assert len(server.prompts) == 1


def test_an_alias_is_reported_once_and_then_must_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(prompt: str, n: int) -> Reply:
        return Reply("red", model="alias-7" if n != 10 else "somebody-else")

    with fake_openai(answer) as server:
        found = ask(server, tmp_path / "s.db", answers_as=None, concurrency=1)
    assert capsys.readouterr().err.count("the model fake was requested, but alias-7 answers") == 1
    assert [p.attempts for p in found].count(2) == 1


def _one_row_each(found: list[ov.Prediction]) -> None:
    assert sorted(p.item_id for p in found) == sorted(item.id for item in ITEMS)
