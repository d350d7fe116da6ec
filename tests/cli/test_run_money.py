"""``oversight run`` with prices, budgets, several models and changed prompts."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.harness.view.payload.progress import read_progress
from tests.fakes.batch_server import FakeBatches, Line, fake_batches
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

Oversight = Callable[..., Any]
N = 40  # a call uses 7 + 3 tokens


@pytest.fixture
def lay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(N)))
    Path("prices.toml").write_text(
        "checked = 2026-11-21\n[models.m]\ninput = 1000.0\noutput = 10000.0\n"  # 3.7 cents a call
    )

    def write(server: FakeOpenAI, more: str = "", models: str = "") -> None:
        models = models or '[models.m]\nmodel = "m"\nendpoint = "all"\nmax_tokens = 3\n'
        Path("study.toml").write_text(
            '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
            f'[endpoints.all]\nurl = "{server.url}"\nconcurrency = 4\n{models}{more}'
        )

    return write


def test_dry_run_sends_nothing_and_prints_the_cost(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server)
        [found] = oversight("run", "--dry-run")["forecast"]
        assert server.prompts == []
        assert (found["calls"], found["output_tokens"]) == (N, 3 * N)
        assert found["usd"] >= N * 0.037
        assert found["usd_batch"] == pytest.approx(found["usd"] / 2)
        assert found["checked"] == "2026-11-21"
        lay_out(server, models='[models.x]\nmodel = "x"\nendpoint = "all"\n')
        [unknown] = oversight("run", "--dry-run")["forecast"]
        assert (unknown["usd"], unknown["output_tokens"]) == (None, None)


def test_run_stops_before_the_budget_is_exceeded(lay_out: Callable[..., None], oversight: Oversight) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server)
        stopped = oversight("run", "--budget-usd", "0.40", code=1)["models"]["m"]["stopped"]
        assert "the budget of $0.4 is spent" in stopped
        first = len(server.prompts)
        assert 5 <= first <= 10  # 0.40 / 0.037 = 10.8
        oversight("run", "--budget-usd", "0.40", code=1)  # earlier usage counts
        assert len(server.prompts) <= 10
        result = oversight("run", "--budget-tokens", str(20 * N))["models"]["m"]
        assert (result["predictions"], len(server.prompts)) == (N, N)
        assert result["usd"] == pytest.approx(N * 0.037)


@pytest.mark.parametrize("structured", ["never", "auto"])
def test_earlier_usage_of_every_model_counts_before_the_first_call(
    structured: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    def sections(one: FakeOpenAI, other: FakeOpenAI) -> str:
        return "".join(
            f'[models.{name}]\nmodel = "{name}"\nendpoint = "{server.url}"\nstructured = "{structured}"\n'
            for name, server in (("a", one), ("b", other))
        )

    with fake_openai(lambda p, n: Reply("red")) as server:
        with fake_openai(lambda p, n: Reply("red")) as neighbour:
            lay_out(server, models=sections(server, neighbour))
            oversight("run", "--model", "b", "--budget-requests", "9", code=1)
            oversight("run", "--budget-requests", "9", code=1)
            assert (len(neighbour.prompts), len(server.prompts)) == (9, 0)
        # The usage of a model whose endpoint has gone still counts.
        oversight("run", "--budget-requests", "9", code=1)
        assert server.prompts == []


def test_a_budget_needs_a_price(lay_out: Callable[..., None], oversight: Oversight) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server, models='[models.x]\nmodel = "x"\nendpoint = "all"\n')
        error = oversight("run", "--budget-usd", "1", code=2)["error"]
        assert "price, which is unknown: add the model to prices.toml" in error
        assert server.prompts == []


def test_ten_models_share_an_endpoint_fairly(lay_out: Callable[..., None], oversight: Oversight) -> None:
    names = [f"m{j}" for j in range(10)]
    models = "".join(f'[models.{m}]\nmodel = "{m}"\nendpoint = "all"\n' for m in names)
    with fake_openai(lambda p, n: Reply("green")) as server:
        lay_out(server, models=f"shared_limits = true\n{models}")
        results = oversight("run")["models"]
        asked = [request["model"] for request in server.requests]
    assert [results[m]["predictions"] for m in names] == [N] * 10
    assert len(asked) == 10 * N
    half = asked[: 5 * N]
    # they differ by at most the calls in progress
    assert max(map(half.count, names)) - min(map(half.count, names)) <= 4
    with Store("sqlite:///study.db") as store:
        rows = [p.item_id for run in store.runs.read_runs() for p in store.runs.read_samples(run["id"])]
    assert {rows.count(f"i{j}") for j in range(N)} == {10}


def test_hanging_model_does_not_delay_others(lay_out: Callable[..., None], oversight: Oversight) -> None:
    finished, quick, waited = threading.Event(), list[int](), list[bool]()

    def answer(prompt: str, n: int) -> Reply:
        if server.requests[n]["model"] == "slow":
            waited.append(finished.wait(10))
        else:
            quick.append(n)
            if len(quick) == N:
                finished.set()
        return Reply("green")

    models = "".join(f'[models.{m}]\nmodel = "{m}"\nendpoint = "all"\n' for m in ("slow", "quick"))
    with fake_openai(answer) as server:
        lay_out(server, models=models)
        results = oversight("run")["models"]
    assert [result["predictions"] for result in results.values()] == [N, N]
    assert all(waited)


def test_changed_template_is_reported_and_only_errors_are_retried(
    lay_out: Callable[..., None], oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(prompt: str, n: int) -> Reply:
        return (
            Reply(status=500, body="", headers={"Retry-After": "0"})
            if "number 7." in prompt
            else Reply("red")
        )

    with fake_openai(answer) as server:
        lay_out(server, "tries = 2\n")
        result = oversight("run", code=1)["models"]["m"]
        assert result["failed"] == 1
        assert result["kinds"] == {"failed: server error": 1}
        assert len(server.prompts) == N + 1
        server.answer = lambda prompt, n: Reply("red")
        assert oversight("run", code=1)["models"]["m"]["asked_now"] == 0
        assert oversight("run", "--retry-errors")["models"]["m"]["asked_now"] == 1
        Path("prompt.txt").write_text("Which colour? $text")
        Path("system.txt").write_text("Be brief.")
        lay_out(server, 'tries = 2\n[prompt]\ntemplate = "prompt.txt"\nsystem = "system.txt"\n')
        oversight("run")
        assert len(server.prompts) == 2 * N + 2
    with Store("sqlite:///study.db") as store:
        assert [run["spec"]["system"] for run in store.runs.read_runs()] == ["", "Be brief."]


@pytest.mark.parametrize("abstention", ["0", "0.4"])
def test_report_has_the_cost_per_right_answer(
    lay_out: Callable[..., None], oversight: Oversight, abstention: str
) -> None:
    sure = (("red", -0.1),)
    with fake_openai(lambda p, n: Reply("red", logprobs=sure if n % 2 else (("red", -2.0),))) as server:
        lay_out(server, "logprobs = true\n")
        oversight("run")
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in ("red", "green", "blue"))
    )
    Path("key.csv").write_text(
        "id,label\n" + "".join(f"i{j},{'red' if j % 4 else 'blue'}\n" for j in range(N))
    )
    oversight("label", "route")
    oversight("label", "simulate", "--key", "key.csv", "--abstention", abstention)
    model = oversight("estimate", "--set", "estimate.strata=confidence")["models"]["m"]
    each, low, high = model["usd_per_correct"]
    paid = (N + 1) * 0.037  # one extra call tested whether the endpoint reports log-probabilities
    assert model["usd"] == pytest.approx(paid)
    assert each == pytest.approx(paid / N / model["estimates"]["ml"]["estimate"])
    assert low < each < high
    why = model["accuracy"]["why"]
    assert bool(why) == (abstention != "0")
    assert model.get("usd_per_correct_why", "") == why
    page = Path(oversight("report")["report"]).read_text()
    assert f"${paid:.4f} in all" in page
    assert "per right answer [" in page
    assert bool(re.search(r"per right answer \[[^]]*\] \(!\) may not hold: ", page)) == bool(why)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ('endpoint = "nowhere"', "must be a URL, 'local' or a name under [endpoints]"),
        ('endpoint = "https://example.invalid/v1"', "OPENAI_API_KEY is not set"),
        ('python = "nothing:here"', "'nothing:here' cannot be loaded"),
        ('python = "nothing"', "models.m.python"),
        ('command = ["no-such-program"]', "the program 'no-such-program' does not exist"),
        ("extra = {stream = true}", "'stream' is set by oversight itself"),
        ("samples = 0", "models.m.samples"),
    ],
)
def test_bad_models_are_refused_before_anything_is_sent(
    model: str,
    message: str,
    lay_out: Callable[..., None],
    oversight: Oversight,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server, models=f'[models.m]\nmodel = "m"\n{model}\n')
        assert message in oversight("run", code=2)["error"]
        assert server.prompts == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("prices.toml", "[models.m]\ninput = 1\n", "prices.toml [models.m.output]: is missing"),
        ("system.txt", b"\xff", "system.txt: the system prompt cannot be read"),
        ("items.csv", b"id,text\na,\xff\n", "items.csv:2: not UTF-8"),
        ("items.csv", "id,text\na,x\na,y\n", "items.csv:3 [id]: the id 'a' was used in line 2"),
    ],
)
def test_bad_files_are_refused_before_anything_is_sent(
    name: str, text: str | bytes, message: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server, '[prompt]\nsystem = "system.txt"\n')
        Path("system.txt").write_text("x")
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        assert message in oversight("run", code=2)["error"]
        assert server.prompts == []


def write_prices(share: float) -> None:
    Path("prices.toml").write_text(f"[models.m]\ninput = {1000 * share}\noutput = {10000 * share}\n")


def check_cost(oversight: Oversight, url: str, usd: float) -> None:
    """Check that every output with a cost shows this one."""
    cost = pytest.approx(usd)
    assert oversight("estimate")["models"]["m"]["usd"] == cost
    oversight("report")
    data = Path("report.html").read_text().partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["parts"]["overview"]["models"][0]["usd"] == cost
    with Store(url) as store:
        assert read_progress(read_study("study.toml"), store)["runs"][0]["usd"] == cost


@pytest.mark.parametrize("share", [0.1, 2.0, 0.0])
def test_changed_price_keeps_earlier_cost(
    share: float, url: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server)
        study = Path("study.toml").read_text()
        Path("study.toml").write_text(
            study.replace("[study]\n", f'[study]\nstore = "{url.removeprefix("sqlite:///")}"\n')
        )
        write_prices(1.0)
        Path("experts.toml").write_text(
            "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in ("red", "green", "blue"))
        )
        Path("key.csv").write_text("id,label\n" + "".join(f"i{j},red\n" for j in range(N)))
        oversight("label", "route")
        oversight("label", "simulate", "--key", "key.csv")
        oversight("run", "--budget-usd", "0.40", code=1)
        first = len(server.prompts)
        assert 5 <= first <= 10
        write_prices(share)
        check_cost(oversight, url, first * 0.037)  # no call was made at the new price
        cap = f"{first * 0.037 + 6.5 * 0.037 * share:.6f}"
        again = oversight("run", "--budget-usd", cap, code=0 if share == 0 else 1)["models"]["m"]
        second = len(server.prompts) - first
        assert second == (N - first if share == 0 else pytest.approx(5, abs=1))
        assert again["usd"] == pytest.approx(first * 0.037 + second * 0.037 * share)
        write_prices(1.0)
        oversight("run", "--budget-usd", f"{again['usd']:.6f}", code=0 if share == 0 else 1)
        assert len(server.prompts) == first + second
        oversight("run")
        third = N - first - second
        check_cost(oversight, url, (first + second * share + third) * 0.037)
        Path("prices.toml").unlink()
        check_cost(oversight, url, (first + second * share + third) * 0.037)


def test_changed_price_keeps_earlier_cost_of_a_workflow(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    told = '{"thinking": "it is green", "answer": "B"}'
    with fake_openai(lambda p, n: Reply(told)) as server:
        lay_out(server)
        write_prices(1.0)
        run = ("run", "--workflow", "cot")
        oversight(*run, "--budget-requests", "10", code=1)
        first = len(server.prompts)
        write_prices(0.1)
        oversight(*run, "--budget-usd", f"{first * 0.037:.4f}", code=1)
        assert len(server.prompts) == first
        done = oversight(*run)["workflows"]
        assert [each["usd"] for each in done.values()] == [
            pytest.approx(first * 0.037 + (len(server.prompts) - first) * 0.0037)
        ]


def test_batch_costs_the_price_at_submission(lay_out: Callable[..., None], oversight: Oversight) -> None:
    def answer(line: Line) -> Line:
        body = {
            "choices": [{"message": {"content": "red"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        }
        return {
            "custom_id": line["custom_id"],
            "response": {"status_code": 200, "body": body},
            "error": None,
        }

    with fake_batches(FakeBatches(answer, steps=1)) as server:
        lay_out(server)
        write_prices(1.0)
        assert oversight("run", "--batch", "once")["models"]["m"]["under_way"] == N
        write_prices(0.1)
        assert oversight("run", "--batch")["models"]["m"]["usd"] == pytest.approx(N * 0.037 / 2)
        Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(2 * N)))
        both = oversight("run", "--batch")["models"]["m"]["usd"]
        assert both == pytest.approx(N * (0.037 + 0.0037) / 2)


def test_stopped_run_counts_the_answers_it_stored(lay_out: Callable[..., None], oversight: Oversight) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        lay_out(server)
        result = oversight("run", "--budget-requests", "10", code=1)["models"]["m"]
        assert result["asked_now"] == result["predictions"] == 10
        assert oversight("run")["models"]["m"]["asked_now"] == N - 10


def test_workflow_of_several_calls_is_not_over_the_limit_of_one(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    Path("workflow.toml").write_text('answer = "option"\n')
    with fake_openai(lambda p, n: Reply("THINKING: none\nANSWER: red", billed=(7, 3))) as server:
        lay_out(server)
        result = oversight("run", "--workflow", "cot-sc", "--sample", "2")["workflows"]["m/cot-sc"]
    assert (result["calls_paid"], result["output_tokens"], result["over_limit"]) == (10, 30, 0)


def test_changed_price_waits_for_the_unfinished_batch(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    prices, reply = Path("prices.toml"), {"role": "assistant", "content": "red"}

    def answer(line: Line) -> Line:
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        body = {"model": "m", "choices": [{"index": 0, "message": reply, "finish_reason": "stop"}]}
        response = {"status_code": 200, "body": body | {"usage": usage}}
        return {"custom_id": line["custom_id"], "response": response, "error": None}

    with fake_batches(FakeBatches(answer, steps=1_000)) as server:
        lay_out(server)
        oversight("run", "--batch", "once", "--sample", "10")
        prices.write_text(prices.read_text().replace("000.0", "0000.0"))  # ten times the price
        assert "has changed" in oversight("run", "--batch", "once", code=1)["error"]
        server.steps = 0
        assert "same command again" in oversight("run", "--batch", "once", code=1)["error"]
        result = oversight("run", "--batch", "once")["models"]["m"]
    assert result["usd"] == pytest.approx(0.5 * 0.037 * (10 + 10 * (N - 10)))
