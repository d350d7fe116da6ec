"""Items that are removed or corrected while a model's answers about them are under way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.store import AuditEvent, ReservedAnswer, Store
from tests.fakes.batch_server import FakeBatches, fake_batches, said
from tests.fakes.openai_server import Reply, fake_openai

Oversight = Callable[..., Any]
N = 6
CHANGES = (
    ("items", "remove", "i4", "--reason", "gone"),
    ("items", "correct", "i4", "--reason", "wrong", "--answers", "withdraw"),
    ("items", "correct", "i4", "--reason", "typo", "--answers", "keep"),
)


def write_study(url: str) -> None:
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(N)))
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
        f'[models.m]\nmodel = "m"\nendpoint = "{url}"\nmax_tokens = 5\n'
    )


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBatches]:
    """A server of batches, each of which ends at the second look, and a study in the present folder."""
    monkeypatch.chdir(tmp_path)
    with fake_batches(FakeBatches(lambda line: said(line, "green"), steps=1)) as fake:
        write_study(fake.url)
        yield fake


def correct_file() -> None:
    Path("items.csv").write_text(Path("items.csv").read_text().replace("number 4.", "number four."))


def read_run() -> str:
    with Store("sqlite:///study.db") as store:
        [run] = store.runs.read_runs()
    return str(run["id"])


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_item_of_an_unfinished_batch_is_changed_only_after_the_batch(
    change: tuple[str, ...], server: FakeBatches, oversight: Oversight
) -> None:
    oversight("run", "--batch", "once")
    text = Path("items.csv").read_text()
    correct_file()
    error = oversight(*change, code=2)["error"]
    assert "m: the item 'i4' is in an unfinished batch; first collect the batch" in error
    Path("items.csv").write_text(text)
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    correct_file()
    oversight(*change)
    number = N if "keep" in change else N - 1
    with Store("sqlite:///study.db") as store:
        assert store.runs.count_predictions(read_run()) == number
    assert len(server.batches) == 1


def test_item_can_be_removed_after_its_batch_was_cancelled(server: FakeBatches, oversight: Oversight) -> None:
    oversight("run", "--batch", "once")
    assert oversight("run", "--batch", "cancel")["cancelled"] == 1
    oversight(*CHANGES[0])
    assert oversight("run", "--batch")["models"]["m"]["predictions"] == N - 1
    assert len(server.batches) == 1, "the endpoint had answered before it was asked to cancel"


def test_batch_with_an_item_that_an_older_version_removed_is_collected(
    server: FakeBatches, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = lambda line: said(line, "red" if "number 5." in str(line) else "green")
    oversight("run", "--batch", "once")
    with Store("sqlite:///study.db") as store, store.together(exclusive=True):
        store.withdrawals.remove_item("i4")
        store.audit.append([AuditEvent(kind="item_removed", way="command", asked_id="i4")])
    assert main(["run", "--batch"]) in (0, 1)
    assert "1 request about removed items, whose answers are not stored" in capsys.readouterr().err
    with Store("sqlite:///study.db") as store:
        found = {p.item_id: p.option for p in store.runs.read_predictions(read_run())}
    assert found == {"i0": 1, "i1": 1, "i2": 1, "i3": 1, "i5": 0}


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_items_are_not_changed_while_a_run_is_active(
    change: tuple[str, ...], server: FakeBatches, oversight: Oversight
) -> None:
    oversight("run", "--batch")
    correct_file()
    run = read_run()
    with Store("sqlite:///study.db") as store, store.locks.hold({run: "m"}):
        error = oversight(*change, code=1)["error"]
        assert f"run of m: process {os.getpid()} on " in error
        assert "wait until it has ended, or stop it; then change the item 'i4'" in error
        assert store.runs.count_predictions(run) == N
    oversight(*change)
    assert len(server.batches) == 1


def test_usage_of_an_unfinished_call_stays_charged_when_its_item_is_removed(
    server: FakeBatches,
    oversight: Oversight,
) -> None:
    with fake_openai(lambda prompt, n: Reply("green")) as endpoint:
        write_study(endpoint.url)
        limit = ("--budget-tokens", "100000")
        before = oversight("run", *limit)["models"]["m"]
        left = ReservedAnswer(read_run(), "i4", 0, requests=1, input_tokens=500, output_tokens=40)
        with Store("sqlite:///study.db") as store:
            store.calls.reserve([left])  # simulates a reservation left by a killed process
        oversight(*CHANGES[0])
        after = oversight("run", *limit)["models"]["m"]
    assert after["input_tokens"] == before["input_tokens"] + 500
    assert after["output_tokens"] == before["output_tokens"] + 40
    assert after["unfinished"] == 1
