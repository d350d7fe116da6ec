"""Endings, parts and errors of replies, and the field of the token limit, through ``oversight run``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

Oversight = Callable[..., Any]
N = 12


@pytest.fixture
def lay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.chdir(tmp_path)

    def write(server: FakeOpenAI, settings: str = "tries = 2", items: int = N) -> None:
        Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(items)))
        Path("study.toml").write_text(
            '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
            f'[models.m]\nmodel = "m"\nendpoint = "{server.url}"\nconcurrency = 4\n{settings}\n'
        )

    return write


def completion(**more: Any) -> Reply:
    """A whole body, whose parts are replaced: those of ``choice``, ``message`` and the top."""
    message = {"role": "assistant", "content": "green"} | more.pop("message", {})
    choice = {"index": 0, "message": message, "finish_reason": "stop"} | more.pop("choice", {})
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return Reply(body=json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": usage} | more))


def ended(reason: Any, **message: Any) -> Reply:
    return completion(choice={"finish_reason": reason}, message=message)


def streamed(*pieces: Any) -> Reply:
    lines = [f"data: {json.dumps({'model': 'm', 'choices': [piece]})}\n\n" for piece in pieces]
    return Reply(body="".join(lines) + "data: [DONE]\n\n")


STREAM = streamed(
    {"delta": {"role": "assistant"}},
    {"delta": {"content": "gre"}},
    {"delta": {"content": "en"}, "finish_reason": "stop"},
)
READ = {
    "stop of another name": ended("end_turn"),
    "eos in capitals": ended("EOS"),
    "no ending": ended(None),
    "ending as a dict": ended({"type": "stop"}),
    "ending of another type": ended(7),
    "thinking and text parts": completion(
        message={
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "red?"}]},
                {"type": "text", "text": "green"},
            ]
        }
    ),
    "an unknown part": completion(
        message={"content": [{"type": "citation"}, {"type": "text", "text": "green"}]}
    ),
    "a null part": completion(message={"content": [None, {"type": None, "text": "green"}]}),
    "parts without a type": completion(message={"content": [{"text": "green"}]}),
    "text as an object": completion(message={"content": [{"type": "text", "text": {"value": "green"}}]}),
    "one part": completion(message={"content": {"type": "text", "text": "green"}}),
    "float usage": completion(usage={"prompt_tokens": 7.0, "completion_tokens": "3"}),
    "negative usage": completion(usage={"prompt_tokens": -1, "completion_tokens": -1}),
    "usage as a list": completion(usage=[7, 3]),
    "null logprob": completion(choice={"logprobs": {"content": [{"token": "green", "logprob": None}]}}),
    "logprobs as text": completion(choice={"logprobs": "none"}),
    "model as a number": completion(model=4),
    "byte order mark": Reply(body="\ufeff" + str(completion().body)),
    "packed as none": Reply("green", headers={"Content-Encoding": "none"}),
    "an error that is null": completion(error=None),
    "a stream": STREAM,
    "a stream with a comment": Reply(body=": ping\n\n" + str(STREAM.body)),
    "a stream of parts": streamed(
        {"delta": {"content": [{"type": "text", "text": "green"}]}, "finish_reason": "stop"}
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_an_unambiguous_ending_is_an_answer(
    kind: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: READ[kind]) as server:
        lay_out(server)
        found = oversight("run")["models"]["m"]
        assert (found["ok"], len(server.prompts)) == (N, N)


FAILED = {
    "error": ended("error"),
    "abort": ended("abort", content="gre"),
    "no resources": ended("insufficient_system_resource"),
    "network error": ended("network_error"),
    "cancelled": ended("cancelled"),
    "an ending that nobody knows": ended("solar_flare"),
    "an error beside the choices": completion(error={"message": "upstream failed", "code": 502}),
    "an error in the choice": completion(choice={"error": {"message": "upstream failed"}}),
    "an error in place of choices": Reply(body='{"error": {"message": "bad gateway"}}'),
    "an object that is an error": Reply(body='{"object": "error", "message": "engine died"}'),
    "several errors": completion(errors=[{"message": "engine died"}]),
    "an error in the message": completion(message={"error": "engine died"}),
    "an ending in a list": ended(["error"]),
    "a turn that goes on": ended("pause_turn"),
    "a null choice in a stream": streamed(None),
    "a status in the body": completion(base_resp={"status_code": 1002, "status_msg": "limited"}),
    "a stream without an end": streamed({"delta": {"content": "green"}}),
    "an error in a stream": Reply(body='data: {"error": {"message": "engine died"}}\n\ndata: [DONE]\n\n'),
    "content of another type": completion(message={"content": 5}),
}


@pytest.mark.parametrize("kind", FAILED)
def test_a_failure_inside_a_200_is_tried_again_and_no_wrong_answer(
    kind: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    tries = Counter[str]()

    def answer(prompt: str, n: int) -> Reply:
        tries[prompt] += 1
        return FAILED[kind] if tries[prompt] == 1 else Reply("green")

    with fake_openai(answer) as server:
        lay_out(server)
        found = oversight("run")["models"]["m"]
        assert (found["ok"], len(server.prompts)) == (N, 2 * N)


def test_a_call_that_keeps_failing_names_the_ending(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(
        lambda p, n: ended("error", content="gre") if "number 3." in p else Reply("green")
    ) as server:
        lay_out(server)
        found = oversight("run", code=1)["models"]["m"]
    assert (found["ok"], found["failed"]) == (N - 1, 1)
    assert any("the finish reason 'error'" in reason for reason in found["reasons"])


@pytest.mark.parametrize("reason", ["max_tokens", "MAX_TOKENS", "model_length", "FinishReason.MAX_TOKENS"])
def test_cut_replies_are_known_by_all_their_names(
    reason: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: ended(reason, content="It might")) as server:
        lay_out(server, "max_tokens = 8")
        found = oversight("run")["models"]["m"]
        assert found["truncated"] == N
        assert {r.get("max_completion_tokens") for r in server.requests} == {8, 32}


@pytest.mark.parametrize("reason", ["SAFETY", "sensitive", "refusal", "PROHIBITED_CONTENT", "content-filter"])
def test_filtered_replies_are_known_by_all_their_names(
    reason: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: ended(reason, content="")) as server:
        lay_out(server)
        assert oversight("run")["models"]["m"]["kinds"] == {"unreadable: content filter": N}


def test_malformed_replies_stop_a_run(lay_out: Callable[..., None], oversight: Oversight) -> None:
    with fake_openai(lambda p, n: Reply(body="<html>proxy</html>")) as server:
        lay_out(server, "tries = 5", items=200)
        found = oversight("run", code=1)["models"]["m"]
        assert "20 items in a row without an answer" in found["stopped"]
        assert len(server.prompts) < 60


REFUSALS = [
    (422, "Extra inputs are not permitted: body.max_completion_tokens"),
    (400, "Unrecognized request argument supplied: max_completion_tokens"),
    (400, "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead."),
    (400, "unknown field `max_completion_tokens`"),
]


@pytest.mark.parametrize(("status", "told"), REFUSALS)
def test_the_field_of_the_limit_is_learned_from_a_refusal(
    status: int, told: str, lay_out: Callable[..., None], oversight: Oversight
) -> None:
    refused = "max_completion_tokens"

    def answer(prompt: str, n: int) -> Reply:
        sent = server.requests[-1]
        return Reply(body=json.dumps({"detail": told}), status=status) if refused in sent else Reply("green")

    with fake_openai(answer) as server:
        lay_out(server, "max_tokens = 64")
        found = oversight("run")["models"]["m"]
        assert found["ok"] == N
        assert sum(refused in request for request in server.requests) <= 4


def test_a_value_that_is_refused_changes_no_field(lay_out: Callable[..., None], oversight: Oversight) -> None:
    told = "max_completion_tokens is too large: 64. This model has at most 32"
    with fake_openai(lambda p, n: Reply(body=json.dumps({"error": {"message": told}}), status=400)) as server:
        lay_out(server, "max_tokens = 64")
        oversight("run", code=1)
        assert not any("max_tokens" in request for request in server.requests)


def test_the_field_of_the_limit_can_be_set(lay_out: Callable[..., None], oversight: Oversight) -> None:
    with fake_openai(lambda p, n: Reply("green")) as server:
        lay_out(server, "max_tokens = 64")
        study = Path("study.toml")
        endpoint = f'[endpoints.e]\nurl = "{server.url}"\nlimit_as = "max_tokens"\n[models.m]'
        text = study.read_text().replace(f'endpoint = "{server.url}"', 'endpoint = "e"')
        study.write_text(text.replace("[models.m]", endpoint))
        oversight("run")
        assert all(r["max_tokens"] == 64 and "max_completion_tokens" not in r for r in server.requests)


def test_an_endpoint_that_ignores_the_limit_is_named(
    lay_out: Callable[..., None], oversight: Oversight
) -> None:
    with fake_openai(lambda p, n: Reply("green", billed=(7, 422 if "number 3." in p else 60))) as server:
        lay_out(server, "max_tokens = 64")
        assert oversight("run")["models"]["m"]["over_limit"] == 1
