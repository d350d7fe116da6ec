"""A server that bills honestly, beside what budgets book, for all the ways in which servers count tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.store import Store
from tests.fakes.batch_server import FakeBatches, Line, fake_batches
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

Oversight = Callable[..., Any]
N, CONCURRENCY, MOST = 120, 4, 20
INPUT, OUTPUT = 1.0, 10.0  # dollars per thousand tokens

# Billed tokens (sent, received) and the usage that the provider's reply reports.
USAGES: dict[str, tuple[tuple[int, int], Any]] = {
    "thoughts inside": (
        (50, 505),
        {
            "prompt_tokens": 50,
            "completion_tokens": 505,
            "total_tokens": 555,
            "completion_tokens_details": {"reasoning_tokens": 500},
        },
    ),
    "thoughts in the total": (
        (50, 505),
        {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 555, "reasoning_tokens": 500},
    ),
    "thoughts only in the total": (
        (50, 505),
        {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 555},
    ),
    "thoughts outside, no total": (
        (50, 505),
        {
            "prompt_tokens": 50,
            "completion_tokens": 5,
            "completion_tokens_details": {"reasoning_tokens": 500},
        },
    ),
    "few thoughts outside, no total": (
        (50, 300),
        {"prompt_tokens": 50, "completion_tokens": 160, "reasoning_tokens": 140},
    ),
    "thoughts outside of the total": (
        (50, 505),
        {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55, "reasoning_tokens": 500},
    ),
    "total alone": ((50, 505), {"total_tokens": 555}),
    "no completion": ((50, 505), {"prompt_tokens": 50, "total_tokens": 555}),
    "no prompt": ((50, 505), {"completion_tokens": 5, "total_tokens": 555}),
    "thoughts and prompt": ((50, 520), {"prompt_tokens": 50, "reasoning_tokens": 500}),
    "completion alone": ((50, 505), {"completion_tokens": 505}),
    "other names": ((50, 505), {"input_tokens": 50, "output_tokens": 505}),
    "both names": (
        (50, 505),
        {"prompt_tokens": 0, "completion_tokens": 5, "input_tokens": 50, "output_tokens": 505},
    ),
    "cached inside": (
        (500, 20),
        {
            "prompt_tokens": 500,
            "completion_tokens": 20,
            "total_tokens": 520,
            "prompt_tokens_details": {"cached_tokens": 400},
        },
    ),
    "cached outside": (
        (500, 20),
        {"input_tokens": 60, "cache_read_input_tokens": 440, "output_tokens": 20},
    ),
    "few cached outside": (
        (500, 20),
        {
            "input_tokens": 400,
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 40,
            "output_tokens": 20,
        },
    ),
    "a total that is no sum": (
        (50, 505),
        {"prompt_tokens": 50, "completion_tokens": 505, "total_tokens": 50},
    ),
    "no usage": ((50, MOST), None),
    "an empty usage": ((50, MOST), {}),
}


@pytest.fixture
def lay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(N)))
    Path("prices.toml").write_text(
        f"checked = 2026-11-21\n[models.m]\ninput = {1000 * INPUT}\noutput = {1000 * OUTPUT}\nbatch = 1.0\n"
    )

    def write(url: str) -> None:
        Path("study.toml").write_text(
            '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
            f'[models.m]\nmodel = "m"\nendpoint = "{url}"\nconcurrency = {CONCURRENCY}\nmax_tokens = {MOST}\n'
        )

    return write


def dollars(call: tuple[int, int]) -> float:
    return (call[0] * INPUT + call[1] * OUTPUT) / 1000


def bill(server: FakeOpenAI) -> float:
    return sum(map(dollars, server.bill))


def body(usage: Any, text: str = "red", ending: str = "stop") -> str:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": ending}
    return json.dumps({"model": "m", "choices": [choice]} | ({} if usage is None else {"usage": usage}))


def past(billed: tuple[int, int]) -> float:
    """Dollars by which the calls in flight may exceed their own token limits."""
    return CONCURRENCY * dollars((max(0, billed[0] - 64), max(0, billed[1] - MOST)))


@pytest.mark.parametrize("name", USAGES)
def test_bill_of_a_run_stays_within_the_cap(
    name: str, lay_out: Callable[[str], None], oversight: Oversight
) -> None:
    billed, usage = USAGES[name]
    with fake_openai(lambda prompt, n: Reply(body=body(usage), billed=billed)) as server:
        lay_out(server.url)
        for cap in (20 * dollars(billed), 30 * dollars(billed)):
            result = oversight("run", "--budget-usd", str(cap), code=1)["models"]["m"]
            assert bill(server) <= cap + past(billed)
            assert result["usd"] >= bill(server) - 1e-9
        tokens = sum(map(sum, server.bill)) + 20 * sum(billed)
        oversight("run", "--budget-tokens", str(tokens), code=1)
        assert sum(map(sum, server.bill)) <= tokens + CONCURRENCY * sum(billed)


@pytest.mark.parametrize("name", USAGES)
def test_the_usage_of_batch_lines_is_counted(
    name: str, lay_out: Callable[[str], None], oversight: Oversight
) -> None:
    billed, usage = USAGES[name]

    def answer(line: Line) -> Line:
        response = {"status_code": 200, "body": json.loads(body(usage))}
        return {"custom_id": line["custom_id"], "response": response, "error": None}

    with fake_batches(FakeBatches(answer)) as server:
        lay_out(server.url)
        result = oversight("run", "--batch")["models"]["m"]
    assert result["usd"] >= N * dollars(billed) - 1e-9
    assert (result["guessed"] == N) == ("usage" in name or "prompt" in name or "alone" in name)


@pytest.mark.parametrize(
    "reply",
    [
        body({"prompt_tokens": 50, "completion_tokens": 505}, ending="error"),
        json.dumps({"choices": 7, "usage": {"prompt_tokens": 50, "completion_tokens": 505}}),
        json.dumps({"error": "broken", "usage": {"prompt_tokens": 50, "total_tokens": 555}}),
    ],
    ids=["broken off", "malformed", "an error"],
)
def test_the_usage_of_a_failed_reply_is_counted(
    reply: str, lay_out: Callable[[str], None], oversight: Oversight
) -> None:
    billed = (50, 505)

    def answer(prompt: str, n: int) -> Reply:
        return (
            Reply(body=reply, billed=billed)
            if n % 2
            else Reply(body=body(USAGES["other names"][1]), billed=billed)
        )

    with fake_openai(answer) as server:
        lay_out(server.url)
        cap = 20 * dollars(billed)
        oversight("run", "--budget-usd", str(cap), code=1)
        assert 0.8 * cap <= bill(server) <= cap + past(billed)


def test_an_empty_reply_without_usage_is_charged_with_its_limit(
    lay_out: Callable[[str], None], oversight: Oversight
) -> None:
    with fake_openai(lambda prompt, n: Reply(body=body(None, ""), billed=(50, MOST))) as server:
        lay_out(server.url)
        result = oversight("run")["models"]["m"]
    assert (result["guessed"], result["output_tokens"]) == (N, N * MOST)


def test_prompts_of_digits_are_not_underestimated(
    lay_out: Callable[[str], None], oversight: Oversight
) -> None:
    text = "7, 41, 9; " * 30  # many tokenizers use one token per digit and per mark
    with fake_openai(lambda prompt, n: Reply(body=body(None), billed=(240, MOST))) as server:
        lay_out(server.url)
        Path("items.csv").write_text("id,text\n" + "".join(f'i{j},"{text}{j}"\n' for j in range(N)))
        cap = 20 * dollars((240, MOST))
        oversight("run", "--budget-usd", str(cap), code=1)
        assert bill(server) <= cap


def test_a_workflow_keeps_to_its_cap(lay_out: Callable[[str], None], oversight: Oversight) -> None:
    def answer(prompt: str, n: int) -> Reply:
        limit = server.requests[n]["max_completion_tokens"]
        usage = USAGES["thoughts in the total"][1] if n % 2 else None
        return Reply(body=body(usage, '{"answer": "A"}'), billed=(50, 505) if n % 2 else (50, limit))

    with fake_openai(answer) as server:
        lay_out(server.url)
        cap = 40 * dollars((50, 2048))
        oversight("run", "--workflow", "cot", "--budget-usd", str(cap), code=1)
        assert 0.3 * cap <= bill(server) <= cap
        with Store("sqlite:///study.db") as store:
            [run] = store.runs.read_runs()
            spent = store.calls.read_spent(run["id"])
        assert spent is not None
        assert dollars((spent.input_tokens, spent.output_tokens)) >= bill(server)
