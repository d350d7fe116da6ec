"""Items that are erased or corrected after a search showed them to a model or asked about them."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oversight.agents.search import continue_search, resume_search
from oversight.harness import BadInput
from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import FakeOpenAI, fake_openai

Oversight = Callable[..., Any]
REASON = ("--reason", "the patient withdrew")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, FakeOpenAI]]:
    """A study with an ended search, and the server that still answers for its model."""
    folder = tmp_path_factory.mktemp("searched")
    with fake_openai(answer) as server:
        lay_out(folder, server.url, concurrency=4, n=120)
        assert main(["search", "start", "--study", str(folder / "study.toml"), "--json"]) == 0
        yield folder, server


@pytest.fixture
def server(searched: tuple[Path, FakeOpenAI], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeOpenAI:
    """Copy the study to the present folder. Returns the server."""
    shutil.copytree(searched[0], tmp_path / "study")
    monkeypatch.chdir(tmp_path / "study")
    return searched[1]


def read_search() -> dict[str, Any]:
    with Store("sqlite:///study.db") as store:
        (search,) = store.searches.read_searches()
    return search


def find_item(split: str) -> str:
    with Store("sqlite:///study.db") as store:
        return store.searches.read_splits(read_search()["id"])[split][0]


def count_answers(item: str) -> int:
    with Store("sqlite:///study.db") as store:
        found = store.searches.read_answers(read_search()["id"])
    return sum(p.item_id == item for answers in found.values() for p in answers)


def stored_bytes() -> bytes:
    return b"".join(path.read_bytes() for path in Path().glob("study.db*"))


def test_erased_example_is_neither_stored_nor_sent(
    server: FakeOpenAI, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    search = read_search()
    text = search["spec"]["shown"][0]["text"]
    item = f"i{re.findall(r'[0-9]+', text)[0]}"
    oversight("search", "export", "old.json")
    (run,) = oversight("run", "--workflow", "old.json")["workflows"]
    assert text.encode() in stored_bytes()

    done = oversight("items", "remove", item, *REASON, "--erase")
    assert (done["searches"], done["runs"], done["remains"]) == ([search["id"]], [run], {})
    assert text.encode() not in stored_bytes()
    assert oversight("store", "verify")["holds"]

    sent = len(server.prompts)
    assert any("was erased" in line for line in oversight("search", "show")["search"]["power"])
    for verb in ("start", "resume"):
        assert "can only be shown and exported" in oversight("search", verb, code=2)["error"]
    assert "shape.examples" in oversight("run", "--workflow", "old.json", code=2)["error"]
    assert len(server.prompts) == sent

    assert main(["search", "export", "new.json"]) == 0
    assert "exported without it" in capsys.readouterr().err
    assert text not in Path("new.json").read_text()
    assert oversight("run", "--workflow", "new.json")["workflows"]
    assert not any(text in prompt for prompt in server.prompts[sent:])
    assert text.encode() not in stored_bytes()


def test_erasure_names_the_search_whose_exported_files_may_have_the_text(
    server: FakeOpenAI,
    capsys: pytest.CaptureFixture[str],
) -> None:
    search = read_search()
    item = f"i{re.findall(r'[0-9]+', search['spec']['shown'][0]['text'])[0]}"
    assert main(["items", "remove", item, *REASON, "--erase"]) == 0
    said = capsys.readouterr().out
    assert f"as an example in these searches: {search['id']}" in said
    assert "Delete the workflow files that oversight search export wrote" in said


def test_former_texts_of_an_erased_item_are_erased(server: FakeOpenAI, oversight: Oversight) -> None:
    item = find_item("test")
    old = f"number {item[1:]}.".encode()
    correct(item, oversight)
    sent = len(server.prompts)
    oversight("search", "resume")
    assert len(server.prompts) > sent
    assert old in stored_bytes()
    assert oversight("items", "remove", item, *REASON, "--erase")["remains"] == {}
    assert old not in stored_bytes()
    assert b"number 1000" not in stored_bytes()


def correct(item: str, oversight: Oversight) -> dict[str, Any]:
    items = Path("items.csv")
    items.write_text(items.read_text().replace(f"{item},number {item[1:]}.\n", f"{item},number 1000.\n"))
    done: dict[str, Any] = oversight("items", "correct", item, "--reason", "wrong", "--answers", "withdraw")
    return done


def test_corrected_item_is_not_tested_until_workflows_have_answered_again(
    server: FakeOpenAI, oversight: Oversight
) -> None:
    item, number = find_item("test"), 30
    assert f"({number} items)" in read_winner(oversight)["difference"]
    assert correct(item, oversight)["candidate_answers"] == 2, "the winner's and the start's"
    assert count_answers(item) == 0
    oversight("label", "simulate", "--key", "key.csv")
    found = read_winner(oversight)
    assert f"({number - 1} items)" in found["difference"]
    assert (found["test"], found["untested"]) == (
        None,
        "test items without an answer: 1; go on with: oversight search resume",
    )
    sent = len(server.prompts)
    oversight("search", "resume")
    assert [prompt for prompt in server.prompts[sent:] if "number 1000." not in prompt] == []
    assert f"({number} items)" in read_winner(oversight)["difference"]
    assert read_winner(oversight)["test"] is not None


def read_winner(oversight: Oversight) -> dict[str, Any]:
    found: dict[str, Any] = oversight("search", "show")["search"]["winner"]
    return found


def test_search_does_not_send_an_item_that_was_corrected_while_it_waited(
    server: FakeOpenAI, oversight: Oversight
) -> None:
    study = read_study("study.toml")
    with Store(study.store_url) as store:
        waiting = resume_search(study, store, None)
        item = find_item("test")
        correct(item, oversight)
        sent = len(server.prompts)
        with pytest.raises(BadInput, match=f"item '{item}' was removed or corrected meanwhile"):
            asyncio.run(continue_search(study, store, waiting, print))
    assert len(server.prompts) == sent


@pytest.mark.parametrize("split", ["feedback", "select", "confirm"])
def test_search_goes_on_after_an_item_of_any_split_was_corrected(
    split: str,
    server: FakeOpenAI,
    oversight: Oversight,
) -> None:
    winner = read_winner(oversight)["id"]
    item = find_item(split)
    number = count_answers(item)
    correct(item, oversight)
    oversight("label", "simulate", "--key", "key.csv")
    assert oversight("search", "show")
    assert oversight("search", "resume")["search"]["winner"]["id"] == winner
    assert count_answers(item) >= min(number, 1)


def test_item_is_not_changed_while_its_search_is_active(
    server: FakeOpenAI,
    oversight: Oversight,
) -> None:
    search = read_search()["id"]
    with Store("sqlite:///study.db") as store, store.locks.hold({search: "s"}):
        error = oversight("items", "remove", "i1", *REASON, code=1)["error"]
    assert f"search {search}: process " in error
