"""A campaign on open answers over a real Label Studio and by three experts, up to the estimate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oversight.harness.store import Store
from oversight.harness.types import Verdict
from tests.e2e.conftest import EXPERTS, Bench
from tests.open_answers.open_study import lay_out
from tests.open_answers.test_campaign import NAMED, key_by_question, true_scores

pytestmark = [pytest.mark.label_studio, pytest.mark.slow]
FIELDS = dict(zip(EXPERTS, ("medicine", "finance", "physics"), strict=True))


def open_campaign(make_bench: Callable[..., Bench], questions: int) -> Bench:
    """The bundled study with the server's three experts, its questions drawn."""
    bench = make_bench(1, classes=FIELDS)
    roster = (bench.folder / "experts.toml").read_text()
    (bench.folder / "items.csv").unlink()
    lay_out(bench.folder, bench.call)
    (bench.folder / "experts.toml").write_text(roster)
    routed = bench.call("label", "route", "--questions", str(questions))
    assert routed["experts"].keys() == EXPERTS.keys()
    return bench


def test_open_answers_are_judged_on_a_server(make_bench: Callable[..., Bench]) -> None:
    bench = open_campaign(make_bench, 120)
    key, passed = key_by_question(), ""
    assert bench.call("label", "push")["sent"] == len(key)
    for person in EXPERTS:
        tasks = bench.tasks(person)
        for task in tasks:
            assert task["data"].keys() == {"question_id", "text", "question"}
            assert not NAMED.search(str(task["data"]))
            verdict, field = key[task["data"]["question_id"]]
            assert field == FIELDS[person]
            passed = passed or task["data"]["question_id"]
            is_passed = task["data"]["question_id"] == passed
            bench.people[person].answer(task["id"], Verdict.SKIP.value if is_passed else verdict)
    pulled = bench.call("label", "pull")
    assert (pulled["new"], pulled["quarantined"]) == (len(key), 0)
    with Store(bench.url) as store:
        said = store.replies(panel=False).read_replies()
    expected = {name: verdict for name, (verdict, _) in key.items()} | {passed: Verdict.SKIP.value}
    assert {name: reply.value for name, reply in said.items()} == expected
    found = bench.call("estimate")["models"]
    for model, truth in true_scores().items():
        assert found[model]["score"]["low"] <= truth <= found[model]["score"]["high"], model
    assert bench.call("label", "close")["open"] == {}
    assert bench.call("store", "verify")["findings"] == []
