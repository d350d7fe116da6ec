"""A program's run on one item told again from stored calls: nothing is asked, paid or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from oversight.agents.programs import PromptFormat, Role
from oversight.agents.runtime.host import Workbench, WorkflowHost
from oversight.agents.runtime.program_answers import read_predictions
from oversight.agents.runtime.request_draws import RequestDraws
from oversight.agents.sandbox import Payload, Sandbox
from oversight.harness import NoReply, StoreError, TransientModelError
from oversight.harness.llm import Message, ModelReply, Request
from oversight.harness.store import Store
from oversight.harness.types import Item, Prediction, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCall:
    """One call of a program: what was sent, and what came.

    Attributes
    ----------
    messages
        What was sent to the model; of code that ran in the sandbox, the code.
    is_code
        Whether it ran code instead of asking the model.
    error
        Why it failed; empty if it did not.
    """

    messages: tuple[Message, ...]
    reply: str = ""
    temperature: float | None = None
    finish: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""
    is_code: bool = False


@dataclass(slots=True)
class Replay:
    """What a program asked and got on an item.

    Attributes
    ----------
    calls
        In their order.
    prediction
        What it answered this time; None if the replay ended before.
    ended
        Why it ended early, in words; empty if it came to its end.
    """

    calls: list[ReplayedCall] = field(default_factory=list)
    prediction: Prediction | None = None
    ended: str = ""


class StoredReplies(RequestDraws):
    """Answers from stored calls alone, and keeps what was asked.

    Parameters
    ----------
    name
        Name of the model, see `oversight.agents.runtime.request_draws.name_model`.
    store
        Whose calls are read.
    told
        Where calls are added.
    """

    def __init__(self, name: str, store: Store, told: Replay) -> None:
        super().__init__(name)
        self._store, self._told = store, told

    async def _answer(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:  # noqa: ARG002  what is stored came so
        call = self._store.calls.read_calls([key], failed=True).get(key)
        if call is None:
            missing = "the reply to this call is not stored: it was not made, or made otherwise"
            self._told.calls.append(
                ReplayedCall(messages=request.messages, temperature=request.temperature, error=missing)
            )
            raise StoreError(missing)
        self._told.calls.append(
            ReplayedCall(
                messages=request.messages,
                reply=call.reply,
                temperature=request.temperature,
                finish=call.finish,
                input_tokens=call.input_tokens,
                output_tokens=call.output_tokens,
                error=call.error,
            )
        )
        if call.error.startswith(NoReply.BEGINS):
            raise NoReply(call.error.removeprefix(NoReply.BEGINS))
        if call.error:
            raise TransientModelError(call.error)
        return ModelReply(call.reply, call.finish, call.input_tokens, call.output_tokens)


@dataclass(eq=False, kw_only=True)
class ReplayHost(WorkflowHost):
    """A host that also tells what code a program ran."""

    told: Replay

    def begin(self, index: int) -> None:
        """Start afresh: a session that was stopped is run again, and makes the same calls."""
        self.told.calls.clear()
        super().begin(index)

    async def _run(self, call: Payload) -> Payload:
        found = await super()._run(call)
        code = Message("user", str(call["code"]))
        self.told.calls.append(ReplayedCall(messages=(code,), reply=str(found["output"]), is_code=True))
        return found


async def replay_program(
    program: Program,
    item: Item,
    replies: str,
    store: Store,
    *,
    sandbox: Sandbox,
    roles: Sequence[Role],
    shape: PromptFormat,
    replicate: int = 0,
) -> Replay:
    """Run a program on an item once more, with stored calls as its only endpoint.

    Parameters
    ----------
    replies
        Name of the model whose calls are taken, see `oversight.agents.runtime.request_draws.name_model`.
    replicate
        Number of the repetition to tell again.

    Raises
    ------
    ProgramRefused
        If the static gate refuses the source.
    SandboxError
        If the sandbox itself cannot work.
    """
    told = Replay()
    bench = Workbench(StoredReplies(replies, store, told), sandbox, roles, shape, blames_program=True)
    host = ReplayHost([item], bench, replicate, told=told)
    outcomes = await sandbox.run(program, host.payloads(), host)
    try:
        (told.prediction,) = read_predictions(host, outcomes)
    except StoreError as error:
        told.ended = str(error)
    return told
