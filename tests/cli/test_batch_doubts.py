"""``oversight run --batch`` at servers that lose, refuse or garble batches and their files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.store import Store
from tests.fakes.batch_server import FakeBatches, fake_batches, said

Oversight = Callable[..., Any]
N = 6


@pytest.fixture
def server() -> Iterator[FakeBatches]:
    with fake_batches(FakeBatches(lambda line: said(line, "green"), steps=1)) as fake:
        yield fake


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeBatches) -> None:
    """Lay out a study, and let the waits of commands pass at once."""
    sleep = asyncio.sleep

    async def pass_at_once(_: float) -> None:
        await sleep(0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(asyncio, "sleep", pass_at_once)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(N)))
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
        f'[models.m]\nmodel = "m"\nendpoint = "{server.url}"\nmax_tokens = 5\n'
    )


def states() -> list[str]:
    with Store("sqlite:///study.db") as store:
        [run] = store.runs.read_runs()
        every = ("sending", "sent", "collected", "cancelled", "failed")
        return [batch.state for batch in store.calls.read_batches(run["id"], every)]


def rows() -> list[str]:
    with Store("sqlite:///study.db") as store:
        [run] = store.runs.read_runs()
        return sorted(p.status.value for p in store.runs.read_predictions(run["id"]))


def hand_over(server: FakeBatches, oversight: Oversight) -> None:
    assert oversight("run", "--batch", "once")["models"]["m"]["under_way"] == N
    server.look("batch-0")  # the batch ends at this poll
    assert server.batches["batch-0"]["status"] == server.end


def test_missing_file_keeps_the_batch_until_it_is_there(server: FakeBatches, oversight: Oversight) -> None:
    hand_over(server, oversight)
    server.broken["GET /v1/files/out.*"] = 404
    error = oversight("run", "--batch", code=1)["error"]
    assert "m: batch batch-0" in error
    assert "the batch remains unfinished" in error
    assert "--batch cancel" in error
    server.broken.clear()
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert len(server.batches) == 1


def test_batch_whose_file_stays_missing_can_be_given_up(server: FakeBatches, oversight: Oversight) -> None:
    hand_over(server, oversight)
    server.broken["GET /v1/files/out.*"] = 404
    assert oversight("run", "--batch", "cancel")["cancelled"] == 1
    assert (states(), rows()) == (["cancelled"], [])
    server.broken.clear()
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N


@pytest.mark.parametrize("how", ["cut", "no id", "binary"])
def test_unreadable_lines_keep_the_batch_and_the_other_answers(
    how: str, server: FakeBatches, oversight: Oversight
) -> None:
    hand_over(server, oversight)
    whole = server.files["out-batch-0"]
    *others, last = whole.splitlines()
    bad = {"cut": last[:-9], "no id": last.replace(b"custom_id", b"id"), "binary": b"\xff\x00"}[how]
    server.files["out-batch-0"] = b"\n".join([*others, bad])
    assert "1 lines of its result files cannot be read" in oversight("run", "--batch", code=1)["error"]
    assert rows() == ["ok"] * (N - 1)
    server.files["out-batch-0"] = whole
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert len(server.batches) == 1


def test_unknown_state_without_answers_stays_under_way(server: FakeBatches, oversight: Oversight) -> None:
    hand_over(server, oversight)
    output = server.batches["batch-0"].pop("output_file_id")
    server.batches["batch-0"]["status"] = "paused"
    assert "its state 'paused' is unknown" in oversight("run", "--batch", code=1)["error"]
    server.batches["batch-0"] |= {"status": "completed", "output_file_id": output}
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert len(server.batches) == 1


def test_unknown_state_with_all_answers_is_collected(server: FakeBatches, oversight: Oversight) -> None:
    server.end = "succeeded"
    hand_over(server, oversight)
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N


@pytest.mark.parametrize("status", [403, 404, 410])
def test_batch_that_the_endpoint_does_not_know_can_be_given_up(
    status: int, server: FakeBatches, oversight: Oversight
) -> None:
    hand_over(server, oversight)
    server.broken["(GET|POST) /v1/batches/.*"] = status
    error = oversight("run", "--batch", code=2)["error"]
    assert f"HTTP {status}" in error
    assert "the batch remains unfinished" in error
    assert states() == ["sent"]
    assert oversight("run", "--batch", "cancel")["cancelled"] == 1
    assert states() == ["cancelled"]
    server.broken.clear()
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert len(server.batches) == 2


@pytest.mark.parametrize("uncertain", ["retry", "hold"])
def test_hand_over_in_doubt_stops_and_does_as_it_is_told(
    uncertain: str, server: FakeBatches, oversight: Oversight
) -> None:
    server.echoes = False
    server.broken = {"POST /v1/batches!": 500, "GET /v1/files/.*": 404}
    error = oversight("run", "--batch", code=1)["error"]
    assert "m: it is unknown whether a batch of 6 requests was submitted" in error
    assert "--uncertain retry" in error
    assert "--uncertain hold" in error
    assert (states(), len(server.batches)) == (["sending"], 1)
    oversight("run", "--batch", code=1)
    assert len(server.batches) == 1
    server.broken = {"GET /v1/files/file-.*": 404}
    if uncertain == "retry":
        assert oversight("run", "--batch", "--uncertain", "retry")["models"]["m"]["ok"] == N
        assert len(server.batches) == 2
    else:
        result = oversight("run", "--batch", "--uncertain", "hold", code=1)["models"]["m"]
        assert result["kinds"] == {"failed: lost": N}
        assert result["guessed"] == N
        assert len(server.batches) == 1


@pytest.mark.parametrize("echoes", [True, False])
def test_lost_create_is_found_again(*, echoes: bool, server: FakeBatches, oversight: Oversight) -> None:
    server.echoes = echoes
    server.broken = {"POST /v1/batches!": 500}
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert len(server.batches) == 1


def add_batches_of_others(server: FakeBatches) -> None:
    for j in range(5):
        name = f"other-{j}"
        server.batches[name] = {"id": name, "status": "completed", "metadata": {"by": "somebody else"}}


@pytest.mark.parametrize("pages", ["array", "after", "cursor", "untold"])
def test_lost_create_is_found_on_a_later_page(pages: str, server: FakeBatches, oversight: Oversight) -> None:
    add_batches_of_others(server)
    server.pages = pages
    server.broken = {"POST /v1/batches!": 500}
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert len(server.batches) == 6


def test_list_that_never_goes_on_leaves_the_hand_over_in_doubt(
    server: FakeBatches, oversight: Oversight
) -> None:
    add_batches_of_others(server)
    server.pages = "deaf"
    server.broken = {"POST /v1/batches!": 500}
    assert "lists only 2 of its batches" in oversight("run", "--batch", code=1)["error"]
    assert (states(), len(server.batches)) == (["sending"], 6)
    server.pages = "after"
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert len(server.batches) == 6


@pytest.mark.parametrize("status", [400, 401, 403, 404])
@pytest.mark.parametrize("path", ["files", "batches"])
def test_refused_create_leaves_nothing_under_way(
    path: str, status: int, server: FakeBatches, oversight: Oversight
) -> None:
    server.broken[f"POST /v1/{path}"] = status
    error = oversight("run", "--batch", code=2)["error"]
    assert error.startswith(f"m: HTTP {status}")
    assert (states(), rows()) == (["failed"], [])
    server.broken.clear()
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N


@pytest.mark.parametrize("status", [400, 409])
def test_cancelling_a_finished_batch_keeps_its_answers(
    status: int, server: FakeBatches, oversight: Oversight
) -> None:
    hand_over(server, oversight)
    server.broken["POST /v1/batches/.*/cancel"] = status
    assert oversight("run", "--batch", "cancel")["cancelled"] == 1
    assert (states(), rows()) == (["collected"], ["ok"] * N)


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("path", ["batches/batch-0", "files/out-batch-0/content"])
def test_failed_status_request_does_not_end_the_wait(
    path: str, status: int, server: FakeBatches, oversight: Oversight
) -> None:
    server.broken[f"GET /v1/{path}!"] = status
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert server.broken == {}


def test_bad_batch_does_not_delay_others(server: FakeBatches, oversight: Oversight) -> None:
    oversight("run", "--batch", "once")
    text = Path("study.toml").read_text()
    for name in ("b", "c"):
        text += f'[models.{name}]\nmodel = "{name}"\nendpoint = "{server.url}"\n'
    Path("study.toml").write_text(text)
    server.broken["GET /v1/batches/batch-0"] = 404
    error = oversight("run", "--batch", code=2)["error"]
    assert "batch-0" in error
    with Store("sqlite:///study.db") as store:
        counts = {
            run["spec"]["name"]: len(store.runs.read_predictions(run["id"])) for run in store.runs.read_runs()
        }
    assert counts == {"m": 0, "b": N, "c": N}
    server.broken.clear()
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
    assert len(server.batches) == 3


def test_batch_of_unknown_state_is_given_up_only_with_an_option(
    server: FakeBatches, oversight: Oversight
) -> None:
    hand_over(server, oversight)
    server.broken["(GET|POST) /v1/batches/.*"] = 500
    error = oversight("run", "--batch", "cancel", code=1)["error"]
    assert "--batch cancel --uncertain retry (or hold)" in error
    assert states() == ["sent"]
    assert oversight("run", "--batch", "cancel", "--uncertain", "hold")["cancelled"] == 1
    assert (states(), rows()) == (["cancelled"], ["failed"] * N)


def test_error_line_beside_an_answer_without_usage_is_booked_once(
    server: FakeBatches, oversight: Oversight
) -> None:
    hand_over(server, oversight)
    lines = [json.loads(line) for line in server.files["out-batch-0"].splitlines()]
    for line in lines:
        del line["response"]["body"]["usage"]
    errors = [{"custom_id": line["custom_id"], "error": {"message": "expired"}} for line in lines]
    server.files["out-batch-0"] = "\n".join(map(json.dumps, lines)).encode()
    server.files["errors"] = "\n".join(map(json.dumps, errors)).encode()
    server.batches["batch-0"]["error_file_id"] = "errors"
    result = oversight("run", "--batch")["models"]["m"]
    assert (result["ok"], result["guessed"], result["output_tokens"]) == (N, N, 5 * N)


@pytest.mark.parametrize("status", [404, 405, 500])
def test_running_batch_that_cannot_be_cancelled_stays_under_way(
    status: int, server: FakeBatches, oversight: Oversight
) -> None:
    server.steps = 1000
    oversight("run", "--batch", "once")
    server.broken["POST /v1/batches/.*/cancel"] = status
    if status >= 500:  # the server accepts the batch, but its reply is lost
        server.steps = 1
        assert oversight("run", "--batch", "cancel")["cancelled"] == 1
        return
    assert "it cannot be cancelled" in oversight("run", "--batch", "cancel", code=2)["error"]
    assert states() == ["sent"]


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_hand_over_in_doubt_is_given_up_only_if_told(
    status: int, server: FakeBatches, oversight: Oversight
) -> None:
    server.echoes = False
    server.broken = {"POST /v1/batches!": 500, "GET /v1/files/.*": 404}
    oversight("run", "--batch", code=1)
    server.broken["GET /v1/batches"] = status
    error = oversight("run", "--batch", "cancel", code=2 if status in (401, 403) else 1)["error"]
    assert "--uncertain retry (or hold)" in error
    assert states() == ["sending"]
    assert oversight("run", "--batch", "cancel", "--uncertain", "retry")["cancelled"] == 1
    assert (states(), rows()) == (["cancelled"], [])


def test_lines_of_errors_close_no_batch_whose_answers_are_missing(
    server: FakeBatches, oversight: Oversight
) -> None:
    hand_over(server, oversight)
    errors = [{"custom_id": f"r{j}", "error": {"message": "expired"}} for j in range(N)]
    server.files["errors"] = "\n".join(map(json.dumps, errors)).encode()
    server.batches["batch-0"]["error_file_id"] = "errors"
    server.broken["GET /v1/files/out.*"] = 404
    assert "the batch remains unfinished" in oversight("run", "--batch", code=1)["error"]
    server.broken.clear()
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N


def test_byte_order_mark_hides_no_answer(server: FakeBatches, oversight: Oversight) -> None:
    hand_over(server, oversight)
    server.files["out-batch-0"] = b"\xef\xbb\xbf" + server.files["out-batch-0"]
    assert oversight("run", "--batch")["models"]["m"]["ok"] == N
