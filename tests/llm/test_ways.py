"""Structured answers, log-probabilities, samples, and every way to reach a model."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import oversight as ov
from oversight.harness import ConfigError, FatalModelError, TransientModelError
from oversight.harness.config import ModelSection
from oversight.harness.errors import Fault
from oversight.harness.llm import DEFAULT_TEMPLATE, ModelReply, ReplyForm, Request, make_model
from oversight.harness.llm.models.program_models import load_function
from oversight.harness.llm.runner.prediction import answer_confidence, answer_probabilities, read_prediction
from oversight.harness.store import Store
from oversight.harness.store.runs import take_vote
from oversight.harness.types import Item, Prediction, PredictionStatus, Usage
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai
from tests.fakes.raw_server import answer, raw_server
from tests.fakes.serving import serving

OPTIONS = ("red", "green", "blue")


def ask(
    server: FakeOpenAI, items: list[Item], folder: Path, template: str = "$text of $names?", **settings: Any
) -> list[Prediction]:
    return ov.run(
        "fake", items, store=str(folder / "s.db"), template=template, endpoint=server.url, **settings
    )


def test_schema_is_tested_once_and_used_if_followed(items: list[Item], tmp_path: Path) -> None:
    with fake_openai(lambda p, n: Reply('{"answer": "no"}' if n == 0 else '{"answer": "green"}')) as server:
        found = ask(server, items, tmp_path, structured="auto")
        assert {p.option for p in found} == {1}
        schema = server.requests[1]["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["answer"]["enum"] == ["blue", "red", "green"]  # in the order shown
        assert len(server.requests) == 7
        assert ask(server, items, tmp_path, structured="auto") == found
        assert len(server.requests) == 7


def test_letters_are_asked_for_where_letters_are_shown(items: list[Item], tmp_path: Path) -> None:
    with fake_openai(lambda p, n: Reply('{"answer": "no"}' if n == 0 else '{"answer": "B"}')) as server:
        found = ask(server, items, tmp_path, DEFAULT_TEMPLATE, structured="always")
        assert {p.option for p in found} == {0}  # B is shown second: options[0]
        schema = server.requests[1]["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["answer"]["enum"] == ["A", "B", "C"]


@pytest.mark.parametrize(
    "refusal", [Reply(status=400, body='{"error": {"message": "response_format?"}}'), Reply("Yes, it is.")]
)
def test_prompt_asks_for_the_form_if_schemas_are_unsupported(
    refusal: Reply, items: list[Item], tmp_path: Path
) -> None:
    with fake_openai(lambda p, n: refusal if n == 0 else Reply("green")) as server:
        found = ask(server, items, tmp_path, structured="auto")
        assert {p.option for p in found} == {1}
        assert all("response_format" not in request for request in server.requests[1:])
        with pytest.raises(ConfigError, match='structured = "always", but http'):
            ask(server, items, tmp_path, structured="always")


def test_log_probabilities_become_a_confidence(items: list[Item], tmp_path: Path) -> None:
    reply = Reply("green", logprobs=((" gre", math.log(0.5)), ("en", math.log(0.8))))
    with fake_openai(lambda p, n: reply) as server:
        found = ask(server, items, tmp_path, logprobs=True)
        assert [p.confidence for p in found] == [pytest.approx(0.4)] * 6
        assert server.requests[-1]["logprobs"] is True
        assert server.requests[-1]["top_logprobs"] == 5
    with fake_openai(lambda p, n: Reply("green")) as server:
        assert {p.confidence for p in ask(server, items, tmp_path, logprobs=True)} == {None}


@pytest.mark.parametrize(
    ("tokens", "shown", "expected"),
    [
        ((("The", -9.0), (" answer", -9.0), (" is", -9.0), (" B", -0.5), (".", -3.0)), 1, math.exp(-0.5)),
        ((("B", -2.0), (" or", -1.0), (" B", -0.1)), 1, math.exp(-0.1)),
        ((("gr", -0.2), ("een", -0.3), ("!", -5.0)), 1, math.exp(-0.5)),
        ((("green", -0.2), (", not ever", -1.0), ("green", -7.0)), 1, math.exp(-0.2)),
        ((("something else", -0.2),), 1, None),
        ((), 1, None),
        ((("C", float("nan")),), 2, None),
        ((("C", float("-inf")),), 2, 0.0),
        ((("C", 0.001),), 2, 1.0),
    ],
)
def test_the_tokens_that_spell_the_answer_count(tokens: Any, shown: int, expected: float | None) -> None:
    found = answer_confidence(tokens, OPTIONS, shown)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("said", "own", "after", "top", "shown", "expected"),
    [
        # Probabilities of one letter's tokens are added; unlisted options share the rest.
        (" B", 0.5, "", {" B": 0.5, "B": 0.1, "(A": 0.2, " The": 0.1}, 1, (2 / 9, 6 / 9, 1 / 9)),
        # An unlisted option gets at most the probability of the least likely listed token.
        ("B", 0.5, "", {"B": 0.5, "A": 0.04}, 1, (0.04 / 0.58, 0.5 / 0.58, 0.04 / 0.58)),
        # If the answer is a capital letter, a small letter is the beginning of a word.
        ("B", 0.6, "", {"B": 0.6, " a": 0.3, "C": 0.1}, 1, (0.0, 6 / 7, 1 / 7)),
        # the answer's token is not among the most likely ones
        ("C", 0.05, "", {"A": 0.8}, 2, (0.8 / 0.9, 0.05 / 0.9, 0.05 / 0.9)),
        # The first token shows which option's text follows.
        (' "gr', 0.7, "een", {' "gr': 0.7, "Red": 0.2, "bl": 0.1}, 1, (0.2, 0.7, 0.1)),
        ("is green", 0.9, "", {"is green": 0.9, "red": 0.1}, 1, ()),
        ("B", 0.9, "", {}, 1, ()),
    ],
)
def test_listed_tokens_give_every_option_a_probability(
    said: str, own: float, after: str, top: dict[str, float], shown: int, expected: tuple[float, ...]
) -> None:
    tokens = (("### ", -0.5), (said, math.log(own)), (after, -0.5))
    listed = tuple((token, math.log(p)) for token, p in top.items())
    reply = ModelReply("", logprobs=tokens, alternatives=((), listed, ()) if top else ())
    found = answer_probabilities(reply, Item("i", "?", OPTIONS, (0, 1, 2)), shown)
    assert found == pytest.approx(expected)


WORDS, NINE = (
    ("cardiology", "neurology"),
    ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
)


@pytest.mark.parametrize(
    ("said", "options", "shown", "notation", "token"),
    [
        ("It| is| a| clear| case|.|\n|ANSWER|:| cardiology", WORDS, 0, "option", 9),
        ("It| is| a| clear| case|.|\n|ANSWER|:| cardiology", WORDS, 0, "letter", 9),
        ("It| is| a| clear| case|:| cardiology", WORDS, 0, "letter", 6),
        ("ANSWER|:| cardiology|\n|It| is| a| clear| case|.", WORDS, 0, None, 2),
        ("ANSWER|:| A|\n|A| clear| case| of| cardiology|.", WORDS, 0, "letter", 2),
        ("A| clear| case|.|\n|ANSWER|:| a", WORDS, 0, "letter", 7),
        ("So| \\boxed{|A|}|\n|I| see| a| heart|.", WORDS, 0, "letter", 2),
        ('{|"answer"|:| "|A|"}', WORDS, 0, "letter", 4),
        ("I| think| so|.|\n|ANSWER|:| nine", NINE, 8, "option", 7),
        ("ANSWER|:| I|\n|I| am| sure|.", NINE, 8, "letter", 2),
    ],
)
def test_confidence_is_read_where_the_option_is_named(
    said: str, options: tuple[str, ...], shown: int, notation: Any, token: int
) -> None:
    tokens = tuple((part, -0.1 if j == token else -5.0) for j, part in enumerate(said.split("|")))
    found = answer_confidence(tokens, options, shown, ReplyForm("line", notation))
    assert found == pytest.approx(math.exp(-0.1))


@pytest.mark.parametrize("answer", ["cardiology", "neurology"])
def test_article_is_not_the_letter_of_the_answer(answer: str) -> None:
    item = Item("i", "?", WORDS, (0, 1))
    tokens = ["It", " is", " a", " clear", " case", ".\n", "ANSWER", ":", f" {answer}"]
    listed = tuple((f" {name}", math.log(0.7 if name == answer else 0.3)) for name in WORDS)
    logprobs = tuple((token, math.log(0.7 if token == tokens[-1] else 0.35)) for token in tokens)
    reply = ModelReply("".join(tokens), logprobs=logprobs, alternatives=((),) * 8 + (listed,))
    found = read_prediction(item, 0, reply, Usage(), asked=ReplyForm("line", "option"))
    assert found.confidence == pytest.approx(0.7)
    assert found.probabilities == pytest.approx([0.7 if name == answer else 0.3 for name in WORDS])


def test_more_samples_pay_only_for_the_new_ones_and_vote(items: list[Item], tmp_path: Path) -> None:
    said = ["green", "blue", "blue"]

    def answer(prompt: str, n: int) -> Reply:
        return Reply(said[n // 6])

    with fake_openai(answer) as server:
        assert {p.option for p in ask(server, items, tmp_path, temperature=1.0, concurrency=1)} == {1}
        found = ask(server, items, tmp_path, temperature=1.0, concurrency=1, samples=3)
        assert len(server.prompts) == 18
    assert {(p.option, p.confidence, p.output_tokens) for p in found} <= {(2, 2 / 3, 9), (1, 2 / 3, 9)}


def test_vote_takes_the_most_frequent_option() -> None:
    def sample(option: int | None, n: int, status: str = "ok") -> Prediction:
        kind = PredictionStatus(status) if option is None else PredictionStatus.OK
        return Prediction("i", option, kind, "x" if option is None else "", n, output_tokens=1)

    def vote(*samples: Prediction) -> Prediction:
        return take_vote(samples)

    assert vote(sample(2, 0), sample(1, 1), sample(1, 2)).option == 1
    tie = vote(sample(2, 0), sample(1, 1))
    assert (tie.option, tie.confidence) == (2, 0.5)
    mixed = vote(sample(None, 0, "unreadable"), sample(None, 1, "failed"), sample(1, 2))
    assert (mixed.option, mixed.confidence, mixed.output_tokens) == (1, 0.5, 3)
    unread = vote(sample(None, 0, "failed"), sample(None, 1, "unreadable"))
    assert (unread.status, unread.confidence) == (PredictionStatus.UNREADABLE, None)
    assert vote(sample(None, 0, "failed"), sample(None, 1, "failed")).status is PredictionStatus.FAILED
    assert vote(sample(1, 0)) == sample(1, 0)


def test_system_prompt_is_the_first_message_and_changes_the_run(
    items: list[Item], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(lambda p, n: Reply("red")) as server:
        ask(server, items, tmp_path)
        ask(server, items, tmp_path, system="You sort colours.", extra={"top_p": 0.5})
        assert server.requests[-1]["messages"][0] == {"role": "system", "content": "You sort colours."}
        assert server.requests[-1]["top_p"] == 0.5
    err = capsys.readouterr().err
    assert (
        "fake: this is a new run, because system: '' before, 'You sort colours.' now; extra: {} before" in err
    )


def test_settings_that_are_put_back_make_the_earlier_run_count_again(
    items: list[Item], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(lambda p, n: Reply("red" if n < len(items) else "blue")) as server:
        first = ask(server, items, tmp_path)
        assert ask(server, items, tmp_path, max_tokens=9) != first
        assert ask(server, items, tmp_path) == first
        assert len(server.requests) == 2 * len(items)
    assert "fake: its stored answers count again, because max_tokens: 9 before" in capsys.readouterr().err
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        other, newest = (run["spec"]["max_tokens"] for run in store.runs.read_runs())
    assert (other, newest) == (9, None)


def test_a_callable_is_a_model(items: list[Item], tmp_path: Path) -> None:
    calls = []

    def sorter(prompt: str) -> str:
        calls.append(prompt)
        if "text 4" in prompt:
            raise RuntimeError("broken")
        return "blue"

    found = ov.run(sorter, items, store=str(tmp_path / "s.db"), template="$text", tries=1)
    assert [p.option for p in found] == [2, 2, 2, 2, None, 2]
    assert found[4].reason == "program error: RuntimeError: broken"
    ov.run(sorter, items, store=str(tmp_path / "s.db"), template="$text", tries=1)
    assert len(calls) == 6

    async def slow(prompt: str) -> ModelReply:
        return ModelReply("green", input_tokens=5, output_tokens=2)

    assert {(p.option, p.input_tokens) for p in ov.run(slow, items, store=str(tmp_path / "s.db"))} == {(1, 5)}


def test_a_command_is_a_model(items: list[Item], tmp_path: Path) -> None:
    program = "import sys; t = sys.stdin.read(); sys.exit(f'no {t}') if '3' in t else print('blue')"
    command = [sys.executable, "-c", program]
    found = ov.run("tool", items, store=str(tmp_path / "s.db"), template="$text", command=command, tries=1)
    assert [p.option for p in found] == [2, 2, 2, None, 2, 2]
    assert found[3].reason == "program error: exit code 1: no text 3"
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    [late] = ov.run("slow", items[:1], store=str(tmp_path / "s.db"), command=slow, tries=1, timeout=0.2)
    assert late.kind == Fault.TIMEOUT
    with pytest.raises(ConfigError, match="the program 'no-such-program' does not exist"):
        ov.run("x", items, store=str(tmp_path / "s.db"), command=["no-such-program"])


def test_the_time_of_a_command_counts_from_its_start(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = asyncio.create_subprocess_exec

    async def start_slowly(*command: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*command, **options)
        await asyncio.sleep(0.6)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_slowly)
    [found] = ov.run(
        "cat", items[:1], store=str(tmp_path / "s.db"), template="$text: red", command=["cat"], timeout=0.5
    )
    assert (found.option, found.attempts) == (0, 1)


@pytest.mark.parametrize("settings", [{}, {"api_version": "2024-10-21"}])
def test_a_content_filter_in_place_of_the_model_list_stops_the_run(
    settings: dict[str, Any], items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    class Filtering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the base class wants this name
            self.send_response(401)
            self.end_headers()
            self.wfile.write(b'{"error": {"code": "content_filter", "message": "filtered"}}')

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

    with (
        serving(HTTPServer(("127.0.0.1", 0), Filtering)) as url,
        pytest.raises(FatalModelError, match="content filter"),
    ):
        ov.run("fake", items, store=str(tmp_path / "s.db"), template="$text", endpoint=url, **settings)


def test_a_function_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_sorter.py").write_text("def sort(prompt):\n    return 'red'\nvalue = 3\n")
    assert load_function("my_sorter:sort")("x") == "red"
    for name in ("my_sorter:other", "no_such_module:sort", "my_sorter:value"):
        with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
            load_function(name)
    with pytest.raises(ValueError, match="not both"):
        ModelSection(model="m", python="a:b", command=["c"])


def test_azure_takes_the_deployment_and_key_in_its_own_form(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    paths: list[tuple[str, str | None]] = []

    class Azure(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # the base class wants this name
            self.rfile.read(int(self.headers["Content-Length"]))
            paths.append((self.path, self.headers["api-key"]))
            message = {"role": "assistant", "content": "red"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            data = json.dumps({"model": "fake", "choices": [choice]}).encode()
            self.send_response(429 if len(paths) == 1 else 200)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:  # the base class wants this name
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

    with serving(HTTPServer(("127.0.0.1", 0), Azure)) as url:
        settings: dict[str, Any] = {"endpoint": url, "api_version": "2024-10-21", "concurrency": 1}
        found = ov.run("deployed", items, store=str(tmp_path / "s.db"), template="$text", **settings)
    assert {p.option for p in found} == {0}
    assert set(paths) == {("/openai/deployments/deployed/chat/completions?api-version=2024-10-21", "secret")}
    assert [p.attempts for p in found].count(2) == 1


def test_azure_key_does_not_follow_a_redirect(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with (
        raw_server(lambda _: [answer()]) as other,
        raw_server(
            lambda _: [answer(b"", f"Location: http://127.0.0.1:{other.port}/", status="307 X")]
        ) as server,
    ):
        url = f"http://127.0.0.1:{server.port}"
        [found, *_] = ov.run(
            "m", items, store=str(tmp_path / "s.db"), template="$text", endpoint=url, api_version="1"
        )
    assert found.option is None
    assert not other.seen


def test_azure_that_cannot_be_reached_stops_the_run(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with pytest.raises(FatalModelError, match="cannot be reached: ConnectError"):
        ov.run(
            "m",
            items,
            store=str(tmp_path / "s.db"),
            template="$text",
            endpoint="http://127.0.0.1:1",
            api_version="1",
        )


def test_azure_without_the_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oversight.harness.distribution.extras.find_spec", lambda _: None)
    settings = ModelSection(model="m", endpoint="http://127.0.0.1:1", api_version="1")
    with pytest.raises(ConfigError, match=r"an endpoint with an api_version needs: .*\[openai\]"):
        make_model(settings)


def test_a_command_inherits_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-told")
    monkeypatch.setenv("PLAIN", "seen")
    settings = ModelSection(model="m", command=["env"])
    reply = asyncio.run(make_model(settings).ask(Request.of("x")))
    assert "PLAIN=seen" in reply.text
    assert "sk-told" not in reply.text


def test_a_command_that_writes_without_end_is_ended() -> None:
    settings = ModelSection(model="m", command=["yes"])
    with pytest.raises(TransientModelError, match="larger than 4,000,000 bytes"):
        asyncio.run(make_model(settings).ask(Request.of("x")))


def test_program_that_changed_keeps_its_answers_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], items: list[Item]
) -> None:
    monkeypatch.chdir(tmp_path)

    def answer(model: str, text: str) -> list[int | None]:
        Path("sort.py").write_text(f"print({text!r})\n")
        command = [sys.executable, "sort.py"]
        found = ov.run(model, items, store="s.db", template="$text of $names?", command=command)
        return [p.option for p in found]

    first = answer("mine", "red")
    assert answer("mine", "red") == first
    assert "has changed" not in capsys.readouterr().err
    assert answer("mine", "blue") == first
    assert "mine: the program has changed since its first answers; oversight keeps" in capsys.readouterr().err
    assert answer("mine-2", "blue") != first
    assert "has changed" not in capsys.readouterr().err
