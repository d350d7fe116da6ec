"""Ask a decision endpoint (``POST /v1/systemone``), which returns probabilities instead of text.

A request contains a state and named questions of one type. The reply contains an answer of this type to each
question. The type determines the questions about an item:

``choice``
    One question: which option is right? Its answer gives the judge's probability of each option.
``noul``
    One yes/no question per option; the options' probabilities need not sum to 1.
``score``
    One question per option, answered on a scale of levels from wrong to right. The judge's probability is the
    expected level divided by the highest level.

The answers are stored as they arrive, so that a second call asks only about the remaining items.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from oversight.harness.config import ModelSection, Study, api_key
from oversight.harness.errors import BadInput, TransientModelError
from oversight.harness.judges.sources import store_judge
from oversight.harness.output import say, shorten
from oversight.harness.store import Store, refuse_mark, split_into_batches
from oversight.harness.types import Item

if TYPE_CHECKING:
    from oversight.harness.llm import HttpClient

KINDS = ("choice", "noul", "score")
LEVELS = (
    "certainly wrong",
    "probably wrong",
    "as likely right as wrong",
    "probably right",
    "certainly right",
)
"""Levels of a score question, from low to high."""
PATH = "/v1/systemone"
_MOST_BYTES = 4_000_000
_TRIES, _AT_ONCE = 3, 8
"""Number of requests per item, and number of items that are asked at once and stored together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedJudge:
    """Result of asking a decision endpoint.

    Attributes
    ----------
    name, run
        Name of the judge, and id of its run.
    items
        Number of items with probabilities, including items asked about in earlier calls.
    asked
        Number of items that this call asked about.
    input_tokens
        Number of input tokens that the endpoint reported for the items of this call.
    """

    name: str
    run: str
    items: int
    asked: int
    input_tokens: int


def make_questions(item: Item, kind: str) -> dict[str, dict[str, Any]]:
    """Write the questions about an item.

    Examples
    --------
    >>> item = Item("1", "Which organ?", ("heart", "lung"), (0, 1))
    >>> make_questions(item, "choice")["answer"]["criteria"]
    {'heart': None, 'lung': None}
    >>> list(make_questions(item, "noul"))
    ['option1', 'option2']
    """
    if kind == "choice":
        told = "Which of these answers is right?"
        return {"answer": {"type": kind, "instructions": told, "criteria": dict.fromkeys(item.options)}}
    found = dict[str, dict[str, Any]]()
    for j, option in enumerate(item.options, start=1):
        question: dict[str, Any] = {"type": kind, "instructions": f"This answer is right: {option}"}
        if kind == "score":
            question["criteria"] = list(LEVELS)
        found[f"option{j}"] = question
    return found


def read_answers(answers: Mapping[str, Any], item: Item, kind: str) -> tuple[float, ...]:
    """Read the probabilities of an item's options from the answers to its questions.

    Raises
    ------
    BadInput
        If an answer is missing, is not of its question's type, or is not a probability.

    Examples
    --------
    >>> item = Item("1", "Which organ?", ("heart", "lung"), (0, 1))
    >>> yes = {"option1": {"type": "noul", "noul": 0.9}, "option2": {"type": "noul", "noul": 0.2}}
    >>> read_answers(yes, item, "noul")
    (0.9, 0.2)
    """
    if kind == "choice":
        told = _field(answers, "answer", kind, "probabilities")
        if not isinstance(told, dict):
            raise BadInput(f"answer: 'probabilities' must be an object, is {shorten(str(told))}")
        vector = tuple(_check(told.get(option), f"answer: {option!r}") for option in item.options)
        if abs(sum(vector) - 1) > 0.02:
            raise BadInput(f"the probabilities of a choice must sum to 1, but sum to {sum(vector):.3g}")
        return vector
    names = [f"option{j}" for j in range(1, len(item.options) + 1)]
    if kind == "noul":
        return tuple(_check(_field(answers, n, kind, "noul"), n) for n in names)
    return tuple(_expected_level(_field(answers, n, kind, "probabilities"), n) for n in names)


def ask_judge(study: Study, url: str, model: str, name: str, kind: str) -> AskedJudge:
    """Ask an endpoint about all items of a study that the judge has not judged yet.

    Parameters
    ----------
    url
        Base URL, or the name of a section under ``[endpoints]``. Such a section can also name the environment
        variable with the API key.
    model
        Name of the model at the endpoint.
    name
        Name of the judge in the study.
    kind
        Type of the questions, one of `KINDS`.

    Raises
    ------
    BadInput
        If the endpoint refuses a request or its reply is invalid. Answers received before the error are
        stored.
    """
    if kind not in KINDS:
        raise BadInput(f"--type: must be {', '.join(KINDS)}, is {kind!r}")
    refuse_mark(study.store_url)
    section = study.endpoints.get(url)
    base = url if section is None else section.url
    settings: dict[str, Any] = {} if section is None else {"api_key_env": section.api_key_env}
    try:
        key = api_key(ModelSection(endpoint=base, model=model, **settings))
    except ValidationError as error:  # the error's text shows the URL, which can contain a password
        raise BadInput(f"--url: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    from oversight.harness.llm import HttpClient

    client = HttpClient(base, headers, timeout=60.0, max_reply_bytes=_MOST_BYTES)
    template = f"{PATH} {kind} {model}"
    with Store(study.store_url) as store:
        items = store.content.read_items()
        if not items:
            raise BadInput("the study has no items yet; see: oversight label route")
        run = store_judge(store, name, base, template, {})
        # The lock makes a second command wait, so that no item is asked about twice. A command on another
        # machine may have been killed, so its lock is replaced; if it still runs, it notices this and stops.
        with store.locks.hold({run: name}, wait=True, take_over=True, tell=say) as lock:
            known = store.runs.read_vectors(run)
            waiting = [item for item in items if item.id not in known]
            tokens = 0
            for portion in split_into_batches(waiting, _AT_ONCE):
                lock.check()
                found = asyncio.run(_ask_all(client, model, portion, kind))
                tokens += _store_answered(store, (name, base, template), found)
    return AskedJudge(name=name, run=run, items=len(items), asked=len(waiting), input_tokens=tokens)


_Replies: TypeAlias = dict[str, tuple[tuple[float, ...], int] | BaseException]
"""By item id: probabilities and input tokens, or the exception of a failed request."""


def _store_answered(store: Store, judge: tuple[str, str, str], found: _Replies) -> int:
    """Store the probabilities that arrived, then raise the first exception. Returns the input tokens."""
    answered = {item: reply for item, reply in found.items() if not isinstance(reply, BaseException)}
    store_judge(store, *judge, {item: vector for item, (vector, _) in answered.items()})
    for reply in found.values():
        if isinstance(reply, BaseException):
            raise reply
    return sum(used for _, used in answered.values())


async def _ask_all(client: HttpClient, model: str, items: Sequence[Item], kind: str) -> _Replies:
    """Ask the endpoint about each item, then close the client. Returns replies and errors by item id."""
    try:
        asked = (_ask(client, model, item, kind) for item in items)
        found = await asyncio.gather(*asked, return_exceptions=True)
    finally:
        await client.close()
    return {item.id: reply for item, reply in zip(items, found, strict=True)}


async def _ask(client: HttpClient, model: str, item: Item, kind: str) -> tuple[tuple[float, ...], int]:
    request = {"model": model, "state": item.text, "questions": make_questions(item, kind)}
    body = json.dumps(request).encode()
    for attempt in range(1, _TRIES + 1):
        try:
            reply = await client.request("POST", PATH, body)
        except TransientModelError as error:
            if attempt == _TRIES:
                raise BadInput(f"item {item.id!r}: {error}; run the same command again to continue") from None
            continue
        if reply.status in (429, 500, 502, 503) and attempt < _TRIES:
            continue
        return _read_reply(reply.status, reply.body, item, kind)
    raise AssertionError  # not reached, because the last attempt returns or raises


def _read_reply(status: int, body: bytes, item: Item, kind: str) -> tuple[tuple[float, ...], int]:
    where = f"item {item.id!r}"
    if status != 200:
        told = shorten(body.decode(errors="replace"))
        raise BadInput(
            f"{where}: the endpoint answers HTTP {status}: {told}; answers received earlier are stored"
        )
    try:
        told = json.loads(body)
        answers = told["answers"]
        used = int((told.get("usage") or {}).get("input_tokens") or 0)
        return read_answers(answers, item, kind), used
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{where}: the reply does not have the format of {PATH}: {shorten(str(error))}"
        ) from None
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def _field(answers: Mapping[str, Any], name: str, kind: str, field: str) -> Any:
    answer = answers.get(name)
    if not isinstance(answer, dict) or answer.get("type", kind) != kind or field not in answer:
        raise BadInput(f"question {name!r}: the reply has no answer of type {kind!r} with field {field!r}")
    return answer[field]


def _check(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadInput(f"{where}: a probability must lie between 0 and 1, is {value!r}")
    return float(value)


def _expected_level(told: Any, name: str) -> float:
    """Return the expected level of a score question divided by the highest level, in [0, 1]."""
    for keys in (LEVELS, [str(j) for j in range(len(LEVELS))]):
        if isinstance(told, dict) and set(told) == set(keys):
            told = [told[key] for key in keys]
    if not isinstance(told, list) or len(told) != len(LEVELS):
        raise BadInput(f"{name}: needs {len(LEVELS)} probabilities, one per level")
    shares = [_check(value, name) for value in told]
    total = sum(shares)
    if total <= 0:
        raise BadInput(f"{name}: the probabilities of the levels are all 0")
    return sum(j * p for j, p in enumerate(shares)) / (total * (len(LEVELS) - 1))
