"""Refusals, unexpected errors and invalid keys affect only their own item or model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oversight as ov
from oversight.harness import FatalModelError
from oversight.harness.errors import Fault
from oversight.harness.llm import ModelReply
from oversight.harness.store import Store
from oversight.harness.types import Item, PredictionStatus
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

N = 60
ITEMS = [Item(f"i{j}", f"number {j}.", ("red", "green", "blue"), (0, 1, 2)) for j in range(N)]


def refuse(status: int, message: str = "no") -> Reply:
    return Reply(status=status, body=json.dumps({"error": {"message": message}}))


def ask(server: FakeOpenAI, store: Path, **settings: Any) -> list[ov.Prediction]:
    options: dict[str, Any] = {"concurrency": 8, "tries": 2, **settings}
    return ov.run("fake", ITEMS, store=str(store), template="$text", endpoint=server.url, **options)


UNCOMMON = [300, 301, 308, *range(405, 408), *range(410, 413), *range(414, 419), 420, 421, 423, 424, 426]
UNCOMMON += [428, 430, 431, 440, 444, 449, 451, 460, 494, 498, 499]


@pytest.mark.parametrize("status", [400, 403, 404, 413, 422])
@pytest.mark.parametrize("number", [0, 30, N - 1])
def test_refused_item_fails_alone_and_is_retried(status: int, number: int, tmp_path: Path) -> None:
    def answer(prompt: str, n: int) -> Reply:
        return refuse(status) if f"number {number}." in prompt else Reply("red")

    with fake_openai(answer) as server:
        found = ask(server, tmp_path / "s.db")
        failed = [p for p in found if p.status is PredictionStatus.FAILED]
        assert [(p.item_id, p.kind, p.attempts) for p in failed] == [(f"i{number}", Fault.REFUSED, 1)]
        assert len(found) == len(server.prompts) == N
        server.answer = lambda prompt, n: Reply("green")
        again = ask(server, tmp_path / "s.db")
    assert len(server.prompts) == N + 1
    assert [p.option for p in again if p.item_id == f"i{number}"] == [1]
    assert {p.status for p in again} == {PredictionStatus.OK}


def test_items_with_uncommon_statuses_fail_alone(tmp_path: Path) -> None:
    def answer(prompt: str, n: int) -> Reply:
        number = int(prompt.rsplit(maxsplit=1)[-1].strip("."))
        return refuse(UNCOMMON[number // 2]) if number % 2 else Reply("red")

    with fake_openai(answer) as server:
        found = ask(server, tmp_path / "s.db", concurrency=1)
    failed = [p for p in found if p.kind == Fault.REFUSED]
    assert len(found) == len(server.prompts) == N
    assert [p.reason.split(":")[1] for p in failed] == [f" HTTP {s}" for s in UNCOMMON]


def test_an_answer_of_another_good_status_is_an_answer(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red", status=203)) as server:
        assert {p.status for p in ask(server, tmp_path / "s.db")} == {PredictionStatus.OK}


@pytest.mark.parametrize("status", [501, 505, 507, 511, 530, 598])
def test_one_item_with_an_uncommon_server_error_fails_alone(status: int, tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: refuse(status) if "number 7." in prompt else Reply("red")) as server:
        found = ask(server, tmp_path / "s.db")
    assert [p.item_id for p in found if p.status is PredictionStatus.FAILED] == ["i7"]


def test_a_redirect_says_where_to(tmp_path: Path) -> None:
    moved = Reply(status=308, body="", headers={"Location": "https://elsewhere.example/v1"})
    with (
        fake_openai(lambda prompt, n: moved) as server,
        pytest.raises(FatalModelError, match=r"20 items in a row.*target \(https://elsewhere.example/v1"),
    ):
        ask(server, tmp_path / "s.db", concurrency=1)


def test_twenty_refusals_in_a_row_stop_the_run_and_are_asked_again(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: refuse(404)) as server:
        with pytest.raises(
            FatalModelError, match=r"20 items in a row without an answer.*check the model name"
        ):
            ask(server, tmp_path / "s.db", concurrency=1)
        assert len(server.prompts) == 20
        server.answer = lambda prompt, n: Reply("red")
        assert {p.status for p in ask(server, tmp_path / "s.db")} == {PredictionStatus.OK}
        assert len(server.prompts) == 20 + N


def test_refusals_with_answers_between_stop_nothing(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: refuse(400) if n % 3 else Reply("red")) as server:
        found = ask(server, tmp_path / "s.db", concurrency=1)
    assert sum(p.kind == Fault.REFUSED for p in found) == 40
    assert len(found) == N


class Unreadable(str):
    """A text that cannot be read."""

    __slots__ = ()

    def __eq__(self, _: object) -> bool:
        raise TypeError("this text cannot be read")

    __hash__ = str.__hash__


class Odd:
    """A callable whose answers break what reads them, for some items."""

    def __init__(self, is_odd: Callable[[str], bool]) -> None:
        self.is_odd, self.calls = is_odd, 0

    def __call__(self, prompt: str) -> Any:
        self.calls += 1
        return ModelReply("red", finish_reason=Unreadable("stop")) if self.is_odd(prompt) else "red"


@pytest.mark.parametrize("number", [0, 30, N - 1])
def test_an_unexpected_error_belongs_to_its_item(number: int, tmp_path: Path) -> None:
    odd = Odd(lambda prompt: f"number {number}." in prompt)
    found = ov.run(odd, ITEMS, store=str(tmp_path / "s.db"), template="$text", concurrency=8)
    failed = [p for p in found if p.status is PredictionStatus.FAILED]
    assert [(p.item_id, p.kind) for p in failed] == [(f"i{number}", Fault.UNEXPECTED)]
    assert "TypeError" in failed[0].reason
    assert len(found) == N


def test_twenty_unexpected_errors_in_a_row_stop_the_run(tmp_path: Path) -> None:
    odd = Odd(lambda prompt: True)
    with pytest.raises(FatalModelError, match=r"20 items in a row.*unexpected error: TypeError"):
        ov.run(odd, ITEMS, store=str(tmp_path / "s.db"), template="$text", concurrency=1)
    assert odd.calls == 20
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        assert store.count_rows()["prediction"] == 20
