"""The fault matrix: one odd reply, to the first, a middle or the last item, on either database.

Every other item is answered and stored; the item with the odd reply also has exactly one row.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

import oversight as ov
from oversight.harness import TransientModelError
from oversight.harness.config import ModelSection
from oversight.harness.errors import Fault
from oversight.harness.llm.asking.batch_file import read_answer, read_lines
from oversight.harness.llm.models.chat_completions import retry_after
from oversight.harness.llm.models.completions import parse_completion
from oversight.harness.llm.models.interface import Request
from oversight.harness.llm.models.limited_model import TokenGuess
from oversight.harness.llm.models.served_model import ServedModel
from oversight.harness.llm.runner.prediction import read_prediction
from oversight.harness.types import Item, PredictionStatus, Usage
from tests.conftest import empty_database
from tests.fakes.openai_server import Reply, fake_openai
from tests.llm.odd_replies import ODD, Odd, body

N = 9
ITEMS = [Item(f"i{j}", f"number {j}.", ("red", "green", "blue"), (0, 1, 2)) for j in range(N)]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """One for all kinds of replies: each is a run of its own."""
    return empty_database(request, tmp_path_factory.mktemp("odd"))


@pytest.mark.parametrize("place", [0, N // 2, N - 1], ids=["first", "middle", "last"])
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.name)
def test_odd_reply_affects_no_other_item(odd: Odd, place: int, database: str) -> None:
    asked: list[str] = []

    def answer(prompt: str, n: int) -> Reply:
        asked.append(prompt)
        again = odd.once and asked.count(prompt) > 1
        return odd.reply if prompt == ITEMS[place].text and not again else Reply("green")

    settings: dict[str, Any] = {"template": "$text", "concurrency": 4, "tries": 1}
    with fake_openai(answer) as server:
        found = ov.run(
            "m", ITEMS, store=database, endpoint=server.url, system=f"{odd.name} {place}", **settings
        )
    strange = found.pop(place)
    assert [(p.item_id, p.option) for p in found] == [(i.id, 1) for i in ITEMS if i.id != strange.item_id]
    assert (strange.item_id, strange.status, strange.kind) == (ITEMS[place].id, odd.status, odd.reason)


@pytest.mark.parametrize("says_usage", [True, False])
def test_characters_that_no_database_stores_become_visible(tmp_path: Path, *, says_usage: bool) -> None:
    said = Reply("green \0 \ud83d", says_usage=says_usage)
    with fake_openai(lambda prompt, n: said) as server:
        [found] = ov.run("m", ITEMS[:1], store=str(tmp_path / "s.db"), endpoint=server.url, template="$text")
    assert (found.option, found.raw) == (1, "green \\u0000 \\ud83d")


def test_item_with_a_nul_is_asked_and_recognised_again(tmp_path: Path) -> None:
    item = Item("i", "a\0b\ud800", ("red", "gr\0een"), (0, 1))
    with fake_openai(lambda prompt, n: Reply("B")) as server:
        for _ in range(2):
            [found] = ov.run("m", [item], store=str(tmp_path / "s.db"), endpoint=server.url)
        assert len(server.prompts) == 1
    assert found.option == 1
    with pytest.raises(ov.DataError, match="the item id 'i\\\\x00' contains a secret"):
        ov.run("m", [Item("i\0", "a", ("b", "c"), (0, 1))], store=str(tmp_path / "s.db"))


def test_error_while_reading_affects_only_its_item() -> None:
    damaged = Item("i", "a", ("red", "green"), (0, 7))  # the permutation names an option that does not exist
    reply, counts = parse_completion(body().payload("m").encode()), Usage(requests=1, input_tokens=7)
    found = read_prediction(damaged, 0, reply, counts)
    assert (found.status, found.option, found.input_tokens, found.raw) == ("failed", None, 7, "green")
    assert found.reason.startswith("unexpected error: IndexError: ")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("1.5", 1.5), ("²", None), ("٣", None), ("1_0", None), ("9" * 400, None), ("1e9", None), ("-1", None),
     ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None)],
)  # fmt: skip
def test_retry_after_is_ascii_digits_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds


VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e30, 2**63, "", "x", "\0", "\x1b[2J", [], {}, [[]], {"text": 3}, ["x", 1],
    '{"answer":' * 3000, "9" * 5000, "\u202e", [{"type": "text"}], [{"token": "a", "logprob": -1e400}],
)  # fmt: skip
VALID = {
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": '{"answer": "B"}', "refusal": None},
            "finish_reason": "stop",
            "logprobs": {"content": [{"token": "B", "logprob": -0.1, "bytes": [66]}]},
        }
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
}


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Another value at any place, or a few bytes changed, cut out or doubled."""
    if rng.random() < 0.7:
        whole = orjson.loads(data)
        place: Any = whole
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = rng.choice(keys)
            if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
                place = place[key]
                continue
            place[key] = rng.choice(VALUES)
            break
        return orjson.dumps(whole, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    changed = bytearray(data)
    for _ in range(rng.choice([1, 2, 8])):
        start = rng.randrange(len(changed))
        changed[start : start + rng.randrange(3)] = rng.choice(
            [b"", b"\0", b"\xff", b"\\ud800", b"[" * 5000, b"1"]
        )
    return bytes(changed)


def test_mutated_reply_gives_a_prediction_or_a_fault() -> None:
    rng, valid = random.Random(14), orjson.dumps(VALID)  # noqa: S311  draws a test, no secret
    predicted, faults = 0, []
    for _ in range(1500):
        try:
            reply = parse_completion(mutate(valid, rng))
        except TransientModelError as error:
            faults.append(error.fault)
            continue
        found = read_prediction(ITEMS[0], 0, reply, Usage(requests=1))
        assert found.status is not PredictionStatus.FAILED, found.reason
        assert found.confidence is None or 0 <= found.confidence <= 1
        predicted += 1
    assert set(faults) == {Fault.MALFORMED}
    assert min(predicted, len(faults)) > 300


def test_odd_lines_of_a_batch_affect_no_other_line() -> None:
    whole = orjson.loads(body().payload("m"))
    good = {"custom_id": "r0", "response": {"status_code": 200, "body": whole}}
    odd: dict[str, Any] = {
        "r1": {"response": {"status_code": "200", "body": whole}},
        "r2": {"response": {"status_code": 200, "body": [whole]}},
        "r3": {"response": [], "error": "x"},
        "r4": {"response": {"status_code": 500, "body": {"error": {"message": [[["\0"]]]}}}},
        "r5": {"error": {"message": "too late"}},
    }
    data = [orjson.dumps(good), b"{", b"[]", b'{"custom_id": ["r1"]}', b"[" * 5000]
    data += [orjson.dumps({"custom_id": name, **line}) for name, line in odd.items()]
    lines = read_lines(b"\n".join(data))
    settings = ModelSection(model="m")
    served = ServedModel(settings, None)
    paid: dict[str, Any] = {"request": Request.of("x", max_tokens=9), "guess": TokenGuess()}
    found = [read_answer(ITEMS[0], 0, lines.get(f"r{n}"), settings, served, **paid) for n in range(7)]
    assert [p.output_tokens for p in found] == [3, 3, 9, 0, 0, 0, 0]
    kinds = ["", "malformed response", "malformed response", "batch expired", "server error", "batch expired"]
    assert [p.kind for p in found] == [*kinds, "batch expired"]
    assert found[0].option == 1
