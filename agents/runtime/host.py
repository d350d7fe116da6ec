"""A program's answers to items, as predictions like any model's: the host's side of a sandbox.

Tasks go in without anything secret, calls come out and are answered.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from agents.runtime.call import BadCall, read_call
from agents.runtime.call_prompt import answers, make_call_request, read_fields
from agents.runtime.line_prompt import line_request, read_line
from agents.sandbox import Payload, ProgramOutcome, Sandbox, check_program
from harness import TransientModelError
from harness.llm import ModelReply, Request, Unreadable, option_letters_of, parse_answer
from harness.types import Item, Prediction, PredictionStatus, Program

if TYPE_CHECKING:
    from agents.runtime.broker import Broker

BATCH = 64
"""Items of one session: enough that its start costs nothing, few enough to hold in memory."""


async def answer_items(
    program: Program,
    items: Sequence[Item],
    *,
    broker: Broker,
    roles: Sequence[Role],
    replicate: int = 0,
    sandbox: Sandbox,
    shape: PromptFormat = DEFAULT_FORMAT,
) -> list[Prediction]:
    """Answer every item with a program.

    A program that raises, loops or passes a limit has answered and named no option: UNREADABLE,
    which is wrong on the accuracy scale, so that crashing never pays. Only what the program cannot
    help is FAILED: a call that failed after all retries, whatever the program made of it.

    Parameters
    ----------
    program
        What to run.
    items
        What to answer.
    broker
        The only way to the model.
    roles
        Experts the program may name, see `agents.programs.workflow_settings`.
    replicate
        Number of the independent repetition; it becomes the predictions' `sample`.
    sandbox
        Where the program runs.
    shape
        How calls are worded in this study.

    Returns
    -------
    list of Prediction
        One per item, in order; tokens are summed over the item's calls, cached ones included.

    Raises
    ------
    ProgramRefused
        If the static gate refuses the source.
    BudgetSpent
        If the budget ends; what was answered stays in the broker's cache.
    FatalModelError
        If the endpoint refuses in a way that no repetition mends.
    SandboxError
        If the sandbox itself cannot work.
    """
    check_program(program)
    batches = [items[start : start + BATCH] for start in range(0, len(items), BATCH)]

    async def answer(batch: Sequence[Item]) -> list[Prediction]:
        desk = WorkflowHost(batch, broker, roles, shape, replicate, sandbox)
        outcomes = await sandbox.run(program, desk.payloads(), desk)
        if desk.fatal is not None:
            raise desk.fatal
        return [desk.prediction(j, outcome) for j, outcome in enumerate(outcomes)]

    tasks = [asyncio.create_task(answer(batch)) for batch in batches]
    try:
        return [prediction for done in await asyncio.gather(*tasks) for prediction in done]
    finally:
        for task in tasks:
            task.cancel()


@dataclass(slots=True)
class ItemUsage:
    """What one item's run has used so far."""

    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    calls: int = 0
    seen: Counter[Any] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    failed: str = ""


@dataclass(slots=True, eq=False)
class WorkflowHost:
    """Answers the calls that a program makes for some items; a `Host` of `agents.sandbox`.

    Parameters
    ----------
    items
        To be answered; of each the program sees text, options and letters only.
    broker
        The way to the model.
    roles, shape
        The study's data for prompts.
    replicate
        Number of the repetition; another one draws other replies.
    sandbox
        Where code that a model wrote is run.

    Attributes
    ----------
    fatal
        The error that ended everything, if one did; a program cannot catch it.
    """

    items: Sequence[Item]
    broker: Broker
    roles: Sequence[Role]
    shape: PromptFormat
    replicate: int
    sandbox: Sandbox
    fatal: Exception | None = None
    tallies: list[ItemUsage] = field(init=False)

    def __post_init__(self) -> None:
        self.tallies = [ItemUsage() for _ in self.items]

    def payloads(self) -> list[Payload]:
        """What the program sees of each item."""
        return [
            {
                "text": item.text,
                "options": list(item.shown_options),
                "letters": list(option_letters_of(len(item.options))),
                "answers": list(answers(item, self.shape)),
                "roles": [[role.name, role.text] for role in self.roles],
                "code_allowed": self.shape.code,
            }
            for item in self.items
        ]

    def begin(self, index: int) -> None:
        """Start an item afresh, so that a repeated run makes the same draws and counts once."""
        self.tallies[index] = ItemUsage()

    async def ask(self, index: int, call: Payload) -> Payload:
        """Answer one call; what it raises, the program sees, with nothing of the host in it."""
        if type(index) is not int or not 0 <= index < len(self.items) or not isinstance(call, dict):
            raise RuntimeError("no such task or call")
        tally = self.tallies[index]
        tally.calls += 1
        limits = self.sandbox.limits
        if self.fatal is not None or tally.calls > limits.calls:
            raise RuntimeError(f"more than {limits.calls} calls" if self.fatal is None else "stopped")
        try:
            if call.get("kind") == "code":
                return await self._run(call)
            return await self._ask(index, call)
        except BadCall as error:
            raise RuntimeError(str(error)) from None
        except TransientModelError as error:
            tally.failed = str(error)
            raise RuntimeError("the call failed") from None
        except Exception as error:  # noqa: BLE001  `answer_items` raises it
            # The budget, the endpoint, the database or a fault of ours: never the program's doing.
            self.fatal = error
            raise RuntimeError("stopped") from None
        finally:
            tally.seconds = time.perf_counter() - tally.started

    def prediction(self, index: int, outcome: ProgramOutcome) -> Prediction:
        """Read what became of one of the items."""
        item, tally = self.items[index], self.tallies[index]
        option, status, reason = None, PredictionStatus.UNREADABLE, outcome.reason
        if tally.failed:
            status, reason = PredictionStatus.FAILED, tally.failed
        elif outcome.answer is not None:
            shown = parse_answer(outcome.answer, item.shown_options, asked=self.shape.answer)
            if isinstance(shown, Unreadable):
                reason = shown.reason
            else:
                option, status, reason = item.permutation[shown], PredictionStatus.OK, ""
        return Prediction(
            item.id,
            option,
            status,
            reason,
            sample=self.replicate,
            raw=outcome.answer or "",
            input_tokens=tally.input_tokens,
            output_tokens=tally.output_tokens,
            seconds=tally.seconds,
        )

    async def _ask(self, index: int, payload: Any) -> Payload:
        call = read_call(payload, self.sandbox.limits.characters)
        item = self.items[index]
        if self.shape.style == "json":
            reply = await self._draw(make_call_request(call, item, self.shape), index)
            return dict(read_fields(reply.text, call.fields))
        written: dict[str, str] = {}
        for name in call.fields:
            reply = await self._draw(line_request(call, item, self.shape, written), index)
            written[name] = read_line(reply.text)
        return dict(written)

    async def _draw(self, request: Request, index: int) -> ModelReply:
        tally, same = self.tallies[index], (request.messages, request.temperature)
        occurrence = tally.seen[same]
        tally.seen[same] += 1
        # The request itself is the call path: identical ones are told apart by their order alone, so
        # that programs that begin alike share their first replies.
        path = f"{self.items[index].id}/{self.replicate}/{occurrence}"
        # A line that is empty or ends at the cap is all that the model had to say in it.
        reply = await self.broker.ask(request, path, as_it_comes=self.shape.style == "lines")
        tally.input_tokens += reply.input_tokens
        tally.output_tokens += reply.output_tokens
        return reply

    async def _run(self, call: Any) -> Payload:
        code = call.get("code")
        if not self.shape.code:
            raise BadCall("running code is not allowed in this study")
        if not isinstance(code, str):
            raise BadCall("code: must be a text")
        return {"output": await self.sandbox.run_code(code)}
