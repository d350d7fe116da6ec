"""The host side of a sandbox: send tasks without secrets to programs, and answer the programs' calls.

A program can make its own call fail, for example with a request so long that the endpoint answers HTTP 500.
If the endpoint is down, the calls of other programs fail as well. So a failed answer is attributed to the
endpoint only if an answer of an unrelated program failed within one minute.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from oversight.agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from oversight.agents.runtime.call import BadCall, read_call
from oversight.agents.runtime.call_prompt import line_request, make_call_request, write_wish
from oversight.agents.runtime.reply_fields import find_missing, read_fields, read_line, shown_answers
from oversight.agents.runtime.request_draws import RequestDraws
from oversight.agents.sandbox import Host, Payload, ProgramOutcome, SandboxLimits
from oversight.harness import NoReply, TransientModelError
from oversight.harness.llm import ModelReply, Request, option_letters_of
from oversight.harness.types import Item, Program

MINUTE = 60.0
"""Maximum number of seconds between two failures that count as simultaneous."""
_STAMP = re.compile(r" \(at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00)\)$")
Key = tuple[str, int]
"""A program's id, and the number of a replicate."""


def stamp_failure(reason: str) -> str:
    """Add the present time to the reason of a failed answer, unless the reason already contains a time.

    Examples
    --------
    >>> read_failure_time(stamp_failure("HTTP 500")) == ""
    False
    """
    if _STAMP.search(reason):
        return reason
    return f"{reason} (at {datetime.now(UTC).isoformat(timespec='seconds')})"


def read_failure_time(reason: str) -> str:
    """Return the time in the reason of a failed answer, in ISO format; empty if the reason has no time.

    Examples
    --------
    >>> read_failure_time("HTTP 500 (at 2026-01-31T12:00:00+00:00)")
    '2026-01-31T12:00:00+00:00'
    """
    found = _STAMP.search(reason)
    return found[1] if found else ""


@dataclass(slots=True)
class FailureTimes:
    """Times at which answers of programs failed.

    Attributes
    ----------
    families
        Program id → ids of the programs in its lineage, itself included. Programs whose lineages overlap may
        fail for the same reason, so their failures do not show that the endpoint is down. A program
        without an entry is alone in its lineage.
    """

    families: dict[str, frozenset[str]] = field(default_factory=dict)
    _latest: dict[tuple[Key, str], float] = field(default_factory=dict)
    _moments: list[tuple[float, str]] = field(default_factory=list)

    def add_times(self, key: Key, times: Mapping[str, str]) -> None:
        """Record when a replicate's answers failed; `times` maps item ids to times in ISO format."""
        for item, when in times.items():
            moment = datetime.fromisoformat(when).timestamp()
            self._latest[key, item] = moment
            entry = moment, key[0]
            place = bisect_left(self._moments, entry)
            if self._moments[place : place + 1] != [entry]:
                self._moments.insert(place, entry)

    def is_shared(self, key: Key, item: str) -> bool:
        """Whether an endpoint outage explains this item's latest failure.

        This is assumed if an unrelated program failed at most one minute before or after.
        """
        moment = self._latest.get((key, item))
        if moment is None:
            return False
        own = self._line(key[0])
        first = bisect_left(self._moments, (moment - MINUTE, ""))
        last = bisect_right(self._moments, (moment + MINUTE, "\U0010ffff"))
        return any(own.isdisjoint(self._line(other)) for _, other in self._moments[first:last])

    def _line(self, program: str) -> frozenset[str]:
        return self.families.get(program, frozenset((program,)))


@dataclass(slots=True)
class DryRunBroker:
    """Replaces the broker in a dry run: nothing is sent, cached, paid for or retried.

    Its replies contain one of the choices in a restricted field, and fixed words in any other field.

    Attributes
    ----------
    pick
        Index of the choice: 0 or -1; None derives it from a hash of the request.
    words
        Content of fields without choices.
    asked
        (text, path) of a request → numbers of characters that its call would send and receive. Contains each
        call that a broker would pay for.
    """

    pick: int | None
    words: str = "Some words."
    asked: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    async def ask(self, request: Request, path: str, **_: object) -> ModelReply:
        """Return a made-up reply that fits the request's schema."""
        text = request.text()
        pick = zlib.crc32(text.encode()) if self.pick is None else self.pick
        properties: dict[str, Any] = (request.schema or {}).get("properties", {})
        fields = {
            name: spec["enum"][pick % len(spec["enum"])] if "enum" in spec else self.words
            for name, spec in properties.items()
        }
        reply = json.dumps(fields)
        sent = sum(len(message.content) for message in request.messages)
        self.asked[text, path] = sent, len(reply)
        return ModelReply(reply, "stop", 1, 1)


class ProgramRunner(Protocol):
    """Runs programs, either in a sandbox of this process or in sandboxes on the nodes of a cluster."""

    limits: SandboxLimits

    async def run(self, program: Program, tasks: Sequence[Payload], host: Host) -> list[ProgramOutcome]:
        """See `Sandbox.run`."""
        ...

    async def run_code(self, code: str) -> str:
        """See `Sandbox.run_code`."""
        ...


@dataclass(frozen=True, slots=True)
class Workbench:
    """The environment in which programs run.

    Attributes
    ----------
    broker
        Answers requests: from a model, from stored replies, or with made-up replies.
    sandbox
        Runs programs, and code that a model wrote.
    roles
        Roles that the program may assign, see `oversight.agents.programs.workflow_settings`.
    shape
        Prompt format of the study.
    blames_program
        Whether a call without a usable reply counts against the program, as in a search. If True, the program
        can still answer the item; an item without an answer counts as wrong. Other failures are stored with
        their times. If False, the item's prediction gets the status FAILED.
    """

    broker: RequestDraws | DryRunBroker
    sandbox: ProgramRunner
    roles: Sequence[Role] = ()
    shape: PromptFormat = DEFAULT_FORMAT
    blames_program: bool = False


@dataclass(slots=True)
class ItemUsage:
    """Usage of one item's run so far, and the reasons of its latest failed call and latest unusable reply."""

    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    calls: int = 0
    seen: Counter[Any] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    failed: str = ""
    no_reply: str = ""


@dataclass(slots=True, eq=False)
class WorkflowHost(Host):
    """Answers the calls that a program makes about some items.

    Parameters
    ----------
    items
        Items to answer; the program receives no ids, see `payloads`.
    bench
        Environment of the run.
    replicate
        Number of the replicate; each replicate draws new replies.

    Attributes
    ----------
    fatal
        The error that ended the whole run, if any; a program cannot catch it.
    tallies
        Usage of each item's run.
    """

    items: Sequence[Item]
    bench: Workbench
    replicate: int = 0
    fatal: Exception | None = None
    tallies: list[ItemUsage] = field(init=False)

    def __post_init__(self) -> None:
        self.tallies = [ItemUsage() for _ in self.items]

    def payloads(self) -> list[Payload]:
        """Return the data that the program receives, one entry per item."""
        return [
            {
                "text": item.text,
                "options": list(item.shown_options),
                "letters": list(option_letters_of(len(item.options))),
                "answers": list(shown_answers(item, self.bench.shape)),
                "roles": [[role.name, role.text] for role in self.bench.roles],
                "code_allowed": self.bench.shape.code,
            }
            for item in self.items
        ]

    def begin(self, index: int) -> None:
        """Reset an item's usage, so that a repeated run makes the same draws and is counted once."""
        self.tallies[index] = ItemUsage()

    async def ask(self, index: int, call: Payload) -> Payload:
        """Answer one call. If it fails, the program receives only a message without data of the host."""
        if type(index) is not int or not 0 <= index < len(self.items) or not isinstance(call, dict):
            raise RuntimeError("no such task or call")
        tally = self.tallies[index]
        tally.calls += 1
        limits = self.bench.sandbox.limits
        if self.fatal is not None or tally.calls > limits.calls:
            raise RuntimeError(f"more than {limits.calls} calls" if self.fatal is None else "stopped")
        try:
            if call.get("kind") == "code":
                return await self._run(call)
            return await self._ask(index, call)
        except BadCall as error:
            raise RuntimeError(str(error)) from None
        except TransientModelError as error:
            if isinstance(error, NoReply) and self.bench.blames_program:
                tally.no_reply = str(error)
            else:
                # In a search, the time of a failure shows whether the endpoint or the program caused it.
                tally.failed = stamp_failure(str(error)) if self.bench.blames_program else str(error)
            raise RuntimeError("the call failed") from None
        except Exception as error:  # noqa: BLE001  `answer_items` raises it
            # Errors of the budget, endpoint, database or this project must not count against the program.
            self.fatal = error
            raise RuntimeError("stopped") from None
        finally:
            tally.seconds = time.perf_counter() - tally.started

    async def _ask(self, index: int, payload: Any) -> Payload:
        item, shape = self.items[index], self.bench.shape
        with _blamed():
            size = len(item.text) + sum(map(len, item.options))
            call = read_call(payload, self.bench.sandbox.limits.characters, size)
        if shape.style != "lines":
            with _blamed():
                request = make_call_request(call, item, shape)

            def find_fault(text: str) -> str:
                lacking = find_missing(text, call.fields, shape)
                return write_wish(lacking, call, shape) if lacking else ""

            reply = await self._draw(request, index, find_fault)
            return dict(read_fields(reply.text, call.fields, shape, item, call.choices))
        written: dict[str, str] = {}
        for name in call.fields:
            with _blamed():
                request = line_request(call, item, shape, written)
            reply = await self._draw(request, index)
            written[name] = read_line(reply.text)
        return dict(written)

    async def _draw(
        self, request: Request, index: int, find_fault: Callable[[str], str] | None = None
    ) -> ModelReply:
        tally, same = self.tallies[index], (request.messages, request.temperature)
        occurrence = tally.seen[same]
        tally.seen[same] += 1
        # The path does not contain the program, so programs with the same first calls share the replies.
        # `occurrence` distinguishes identical requests of one run.
        path = f"{self.items[index].id}/{self.replicate}/{occurrence}"
        # In the style "lines", a reply that is empty or cut at the token limit is accepted.
        lines = self.bench.shape.style == "lines"
        reply = await self.bench.broker.ask(request, path, as_it_comes=lines, find_fault=find_fault)
        tally.input_tokens += reply.input_tokens
        tally.output_tokens += reply.output_tokens
        return reply

    async def _run(self, call: Any) -> Payload:
        code = call.get("code")
        if not self.bench.shape.code:
            raise BadCall("running code is not allowed in this study")
        if not isinstance(code, str):
            raise BadCall("code: must be a text")
        return {"output": await self.bench.sandbox.run_code(code)}


@contextmanager
def _blamed() -> Iterator[None]:
    """Turn any error within the block into BadCall, because the program's arguments caused it."""
    try:
        yield
    except BadCall:
        raise
    except Exception as error:  # noqa: BLE001  a program must only end its own item
        raise BadCall(f"the prompt of the call cannot be built ({type(error).__name__})") from None
