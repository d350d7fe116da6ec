"""Replay a program's run on one item from stored calls, without asking a model, paying or writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
    """One call of a program with its reply.

    Attributes
    ----------
    messages
        Messages to the model, or one message with the code that ran in the sandbox.
    is_code
        Whether the program ran code in the sandbox instead of calling the model.
    error
        Reason of a failure; empty if the call succeeded.
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
    """A program's calls and replies on an item.

    Attributes
    ----------
    calls
        The calls, in order.
    prediction
        The program's prediction in this replay; None if the replay ended early.
    ended
        Reason why the replay ended early; empty if the replay is complete.
    """

    calls: list[ReplayedCall] = field(default_factory=list)
    prediction: Prediction | None = None
    ended: str = ""


class StoredReplies(RequestDraws):
    """Answers calls only from stored calls, and records every call in `told`.

    Parameters
    ----------
    name
        Name of the model, see `oversight.agents.runtime.request_draws.name_model`.
    store
        Store with the calls.
    told
        Replay in which the calls are recorded.
    """

    def __init__(self, name: str, store: Store, told: Replay) -> None:
        super().__init__(name)
        self._store, self._told = store, told

    async def _answer(self, key: str, text: str, request: Request, *, as_it_comes: bool) -> ModelReply:  # noqa: ARG002  stored replies are final
        call = self._store.calls.read_calls([key], failed=True).get(key)
        replayed = ReplayedCall(messages=request.messages, temperature=request.temperature)
        if call is None:
            missing = "the reply to this call is not stored: the call was not made, or was made differently"
            self._told.calls.append(replace(replayed, error=missing))
            raise StoreError(missing)
        tokens = call.input_tokens, call.output_tokens
        replayed = replace(replayed, reply=call.reply, finish=call.finish, error=call.error)
        self._told.calls.append(replace(replayed, input_tokens=tokens[0], output_tokens=tokens[1]))
        if call.error.startswith(NoReply.BEGINS):
            raise NoReply(call.error.removeprefix(NoReply.BEGINS))
        if call.error:
            raise TransientModelError(call.error)
        return ModelReply(call.reply, call.finish, *tokens)


@dataclass(eq=False, kw_only=True)
class ReplayHost(WorkflowHost):
    """A host that also records the code that a program ran."""

    told: Replay

    def begin(self, index: int) -> None:
        """Restart an item and clear its recorded calls, because the repeated run makes them again."""
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
    """Run a program on an item again, with stored calls instead of an endpoint.

    Parameters
    ----------
    replies
        Name of the model that answered, see `oversight.agents.runtime.request_draws.name_model`.
    replicate
        Number of the replicate to replay.

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
