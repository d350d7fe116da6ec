"""The Batch API against a loopback server that keeps files and batches as the real one does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oversight.harness import BadInput, ConfigError, FatalModelError, ModelError
from oversight.harness.config import ModelSection
from oversight.harness.llm import (
    Price,
    PriceTable,
    RequestedItems,
    Target,
    cancel_batches,
    dollars,
    make_spec,
    run_alone,
    run_batches,
)
from oversight.harness.llm.asking.batch_run import BatchLimits
from oversight.harness.store import Batch, Store
from oversight.harness.types import Item, Prediction, PredictionStatus, Source
from tests.fakes.batch_server import FakeBatches, Line, fake_batches, said

PRICES = PriceTable({"big": Price(1.0, 10.0)})


def answer(line: Line) -> Line | None:
    prompt = line["body"]["messages"][-1]["content"]
    if "text 1" in prompt:
        return None
    if "text 2" in prompt:
        error = {"message": "no", "code": "content_filter"}
        response = {"status_code": 400, "body": {"error": error}}
        return {"custom_id": line["custom_id"], "response": response, "error": None}
    if "text 3" in prompt:
        response = {"status_code": 500, "body": {"error": {"message": "broken"}}}
        return {"custom_id": line["custom_id"], "response": response, "error": None}
    return said(line, "green")


@pytest.fixture
def store(tmp_path: Path, items: list[Item]) -> Store:
    store = Store(f"sqlite:///{tmp_path / 's.db'}")
    store.content.add_items(items)
    return store


def target(url: str, **more: Any) -> Target:
    settings = ModelSection(model="big", endpoint=url, **more)
    return Target(make_spec("big", settings, "$text", None), settings)


QUICK = BatchLimits(poll=0.01)


def collect(
    store: Store, items: list[Item], asked: Target, *, wait: bool = True, limits: BatchLimits = QUICK
) -> int:
    ids = [item.id for item in items]
    [(_, left)] = run_batches(RequestedItems(store, ids), [asked], prices=PRICES, wait=wait, limits=limits)
    return left


def test_batch_answers_are_stored_in_the_same_rows_at_half_the_price(store: Store, items: list[Item]) -> None:
    with store, fake_batches(FakeBatches(answer, steps=2)) as server:
        asked = target(server.url)
        assert collect(store, items, asked) == 0
        found = {p.item_id: p for p in store.runs.read_predictions(asked.spec.id)}
        assert collect(store, items, asked) == 0
        assert len(server.paid) == 6  # a finished run sends no batch
        cost = dollars(PRICES.models["big"], store.runs.sum_usage(asked.spec.id))
    assert [found[f"i{j}"].option for j in (0, 4, 5)] == [1, 1, 1]
    assert found["i1"].reason == "batch expired: the batch ended without an answer to this request"
    assert (found["i2"].status, found["i2"].reason) == (PredictionStatus.UNREADABLE, "content filter")
    assert found["i3"].kind == "server error"
    assert {p.source for p in found.values()} == {Source.BATCH}
    assert cost == pytest.approx(3 * 0.002 / 2)


def test_a_batch_under_way_survives_and_blocks_paying_twice(store: Store, items: list[Item]) -> None:
    with store, fake_batches(FakeBatches(answer, steps=3)) as server:
        asked = target(server.url, samples=2)
        assert collect(store, items, asked, wait=False) == 12
        with pytest.raises(BadInput, match="12 items are in an unfinished batch"):
            run_alone(RequestedItems(store, [i.id for i in items]), [asked], prices=PRICES)
        assert collect(store, items, asked, wait=False) == 12
        assert len(server.batches) == 1
        assert collect(store, items, asked) == 0
        assert len(server.paid) == 12


@pytest.mark.parametrize("killed", ["before", "after"])
def test_a_command_killed_while_handing_over_hands_over_once(
    killed: str, store: Store, items: list[Item]
) -> None:
    with store, fake_batches(FakeBatches(lambda line: said(line, "red"), steps=1)) as server:
        asked = target(server.url)
        if killed == "after":  # the server has the batch, but the database has no record of its reply
            collect(store, items, asked, wait=False)
            [batch] = store.calls.read_batches(asked.spec.id, ["sent"])
            store.calls.update_batch(batch.marker, remote_id=None, state="sending")
        else:
            store.runs.add_run(asked.spec)
            requests = tuple((i.id, 0) for i in items)
            store.calls.add_batch(Batch("marker", asked.spec.id, None, "sending", requests))
        assert collect(store, items, asked) == 0
        assert len(server.batches) == 1
        assert {p.option for p in store.runs.read_predictions(asked.spec.id)} == {0}


def test_batch_keeps_the_usage_of_the_failed_calls_that_it_replaces(store: Store, items: list[Item]) -> None:
    with store, fake_batches(FakeBatches(lambda line: said(line, "red"))) as server:
        asked = target(server.url)
        run_id = store.runs.add_run(asked.spec) or asked.spec.id
        failed = Prediction(
            "i1", None, PredictionStatus.FAILED, "x", input_tokens=900, output_tokens=90, attempts=3
        )
        store.runs.store_predictions([(run_id, failed)])
        wanted = RequestedItems(store, [item.id for item in items], retry_failed=True)
        run_batches(wanted, [asked], prices=PRICES, wait=True, limits=QUICK)
        used = {part.source: part for part in store.runs.sum_usage(run_id)}
    assert (used[Source.CALL].requests, used[Source.CALL].tokens) == (3, 990)
    assert used[Source.BATCH].tokens == 6 * 1_100


def test_cancelled_requests_may_be_asked_in_another_way(store: Store, items: list[Item]) -> None:
    with store, fake_batches(FakeBatches(answer, steps=1)) as server:
        asked = target(server.url)
        assert collect(store, items, asked, wait=False) == 6
        assert cancel_batches(store, [asked], limits=QUICK) == 1
        assert store.calls.read_batches(asked.spec.id, ("sending", "sent")) == []
        assert "i1" not in {p.item_id for p in store.runs.read_predictions(asked.spec.id)}


@pytest.mark.parametrize("offered", [True, False])
def test_a_batch_in_another_form_is_given_up_too(store: Store, items: list[Item], *, offered: bool) -> None:
    """A run's id depends on whether the endpoint follows a JSON Schema, which was found when it was sent."""
    with store, fake_batches(FakeBatches(answer, steps=1)) as server:
        asked = target(server.url, structured="auto")
        where, model = asked.settings.where, asked.settings.model
        store.calls.add_probe(where, model, "structured", offered=offered, detail="")
        assert collect(store, items, asked, wait=False) == 6
        assert cancel_batches(store, [asked], limits=QUICK) == 1


def test_a_large_batch_becomes_several(store: Store, items: list[Item]) -> None:
    with store, fake_batches(FakeBatches(lambda line: said(line, "red"))) as server:
        asked = target(server.url)
        assert collect(store, items, asked, limits=BatchLimits(requests=4, size=400, poll=0.01)) == 0
        # one batch of four requests, which the size limit halves, and one of two
        assert len(server.batches) == 3
        assert len(server.paid) == 6
        assert len(store.runs.read_predictions(asked.spec.id)) == 6


def test_a_failed_batch_says_why_keeps_its_answers_and_ends(store: Store, items: list[Item]) -> None:
    with store, fake_batches(FakeBatches(answer, end="failed")) as server:
        asked = target(server.url)
        with pytest.raises(FatalModelError, match="the batch was refused"):
            collect(store, items, asked)
        assert store.calls.read_batches(asked.spec.id, ("sending", "sent")) == []
        # answers of the failed batch are paid for
        assert len(store.runs.read_predictions(asked.spec.id)) == 5


def test_error_line_replaces_no_answer(store: Store, items: list[Item]) -> None:
    with store, fake_batches(FakeBatches(lambda line: said(line, "green"), steps=1)) as server:
        asked = target(server.url)
        assert collect(store, items, asked, wait=False) == 6
        server.look("batch-0")
        error = '{"custom_id": "r0", "response": null, "error": {"message": "expired"}}'
        server.files["errors"] = error.encode()
        server.batches["batch-0"]["error_file_id"] = "errors"
        assert collect(store, items, asked) == 0
        assert {p.option for p in store.runs.read_predictions(asked.spec.id)} == {1}


def test_completed_batch_without_output_file_stays_under_way(store: Store, items: list[Item]) -> None:
    with store, fake_batches(FakeBatches(lambda line: said(line, "green"))) as server:
        asked = target(server.url)
        server.steps = 1
        assert collect(store, items, asked, wait=False) == 6
        server.look("batch-0")
        output = server.batches["batch-0"].pop("output_file_id")
        with pytest.raises(ModelError, match="has no output file"):
            collect(store, items, asked)
        server.batches["batch-0"]["output_file_id"] = output
        assert collect(store, items, asked) == 0
        assert (len(server.batches), len(store.runs.read_predictions(asked.spec.id))) == (1, 6)


def test_only_endpoints_have_batches(store: Store, items: list[Item]) -> None:
    settings = ModelSection(model="m", command=["cat"])
    with store, pytest.raises(ConfigError, match="no Batch API is available for command"):
        collect(store, items, Target(make_spec("m", settings, "$text", None), settings))


def test_batches_without_the_sdk_name_the_extra(
    store: Store, items: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oversight.harness.distribution.extras.find_spec", lambda _: None)
    with store, pytest.raises(ConfigError, match=r"the Batch API needs: .*\[openai\]"):
        collect(store, items, target("http://127.0.0.1:1"))
