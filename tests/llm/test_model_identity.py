"""The model that answers first is the one: a swap is a fault, and one that lasts stops the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import oversight as ov
from oversight.harness import FatalModelError
from oversight.harness.config import ModelSection
from oversight.harness.errors import Fault
from oversight.harness.llm.models.served_model import ServedModel
from oversight.harness.store import Store
from oversight.harness.types import Item, PredictionStatus
from tests.fakes.batch_server import FakeBatches, fake_batches, said
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai
from tests.llm.test_batch import collect, target

ITEMS = [Item(f"i{j}", f"number {j}.", ("red", "green", "blue"), (0, 1, 2)) for j in range(60)]


def ask(server: FakeOpenAI, store: Path, items: list[Item] = ITEMS, **settings: Any) -> list[ov.Prediction]:
    options: dict[str, Any] = {"concurrency": 1, "tries": 1, **settings}
    return ov.run("m1", items, store=str(store), template="$text", endpoint=server.url, **options)


def test_a_swap_of_one_reply_is_a_fault_of_its_item_and_named(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red", model="gpt-other-9" if n == 30 else None)) as server:
        found = ask(server, tmp_path / "s.db")
    wrong = [p for p in found if p.status is PredictionStatus.FAILED]
    assert [(p.item_id, p.kind) for p in wrong] == [("i30", Fault.WRONG_MODEL)]
    assert "the model 'gpt-other-9' answered, not 'm1'" in wrong[0].reason
    assert wrong[0].output_tokens == 3  # the reply was paid for


def test_a_swap_that_stays_stops_the_run(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red", model="gpt-other-9" if n >= 10 else None)) as server:
        with pytest.raises(
            FatalModelError, match="the model 'gpt-other-9' answered, not 'm1', 20 times in a row"
        ):
            ask(server, tmp_path / "s.db")
        assert len(server.prompts) == 10 + 20


def test_a_more_precise_name_later_is_another_model(tmp_path: Path) -> None:
    names = {0: "m1-2025-08-07", 30: "m1-2026-01-01"}
    with fake_openai(lambda prompt, n: Reply("red", model=names.get(n, names[0]))) as server:
        found = ask(server, tmp_path / "s.db")
    assert [p.item_id for p in found if p.kind == Fault.WRONG_MODEL] == ["i30"]


def test_first_model_name_is_kept_across_restarts(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red")) as server:
        ask(server, tmp_path / "s.db", ITEMS[:5])
        server.answer = lambda prompt, n: Reply("red", model="gpt-other-9")
        with pytest.raises(FatalModelError, match="answered, not 'm1'"):
            ask(server, tmp_path / "s.db")
        # another study may start with this model
        assert ask(server, tmp_path / "t.db", ITEMS[:5])[0].option == 0
        # the user confirms that the model is the same
        found = ask(server, tmp_path / "s.db", answers_as="gpt-other-9")
    assert sum(p.status is PredictionStatus.OK for p in found) == 60 - 19


def test_a_batch_by_another_model_counts_for_nothing(tmp_path: Path, items: list[Item]) -> None:
    def answer(line: dict[str, Any]) -> dict[str, Any]:
        found = said(line, "red")
        found["response"]["body"]["model"] = "big" if "text 0" in str(line) else "gpt-other-9"
        return found

    with Store(f"sqlite:///{tmp_path / 's.db'}") as store, fake_batches(FakeBatches(answer)) as server:
        store.content.add_items(items)
        asked = target(server.url)
        assert collect(store, items, asked) == 0
        found = store.runs.read_predictions(asked.spec.id)
    assert [p.kind for p in found] == ["", *[Fault.WRONG_MODEL] * 5]


@pytest.mark.parametrize(
    ("served", "is_said"),
    [
        ("gpt-5", False),
        ("gpt-5-2025-08-07", False),
        ("openai/gpt-5", False),
        ("gpt-5-mini", True),
        ("llama", True),
    ],
)
def test_smaller_model_of_the_same_family_is_reported(
    served: str,
    is_said: bool,  # noqa: FBT001
    capsys: pytest.CaptureFixture[str],
) -> None:
    ServedModel(ModelSection(model="gpt-5"), None).recognise(served)
    assert bool(capsys.readouterr().err) == is_said


def test_answers_by_another_model_that_came_first_are_asked_again(tmp_path: Path) -> None:
    def answer(prompt: str, n: int) -> Reply:
        return Reply("red", model="gpt-other-9") if n < 10 else Reply("blue")

    with fake_openai(answer) as server:
        with pytest.raises(FatalModelError, match="first answered as 'gpt-other-9' and now as 'm1'"):
            ask(server, tmp_path / "s.db")
        found = ask(server, tmp_path / "s.db")
    assert [p.status for p in found] == [PredictionStatus.OK] * 60
    assert {p.option for p in found} == {2}
    assert sum(p.attempts for p in found) == 70  # the calls that the other model answered are still counted
