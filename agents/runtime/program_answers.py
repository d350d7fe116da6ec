"""A program's answers to items, as predictions like any model's; and a free run before any call is paid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from oversight.agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from oversight.agents.runtime.host import ObligingBroker, Workbench, WorkflowHost
from oversight.agents.sandbox import ProgramOutcome, Sandbox
from oversight.harness import ProgramRefused
from oversight.harness.llm import ReplyForm, read_reply
from oversight.harness.types import Item, Prediction, PredictionStatus, Program

SIZES = (2, 4, 11)
"""Numbers of options that a program must cope with, if the study has no numbers of its own."""


async def answer_items(
    program: Program, items: Sequence[Item], bench: Workbench, replicate: int = 0
) -> list[Prediction]:
    """Answer every item with a program.

    A program that raises, loops or passes a limit has answered and named no option: UNREADABLE,
    which is wrong on the accuracy scale, so that crashing never pays. Only what the program cannot
    help is FAILED: a call that failed after all retries, whatever the program made of it. In a search
    (`Workbench.blames_program`) that a reply stays empty or cut, or a request is refused, is the program's
    doing, too.

    Parameters
    ----------
    program, items
        What to run, and what to answer.
    bench
        What it is run with.
    replicate
        Number of the independent repetition; it becomes the predictions' `sample`.

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
    host = WorkflowHost(items, bench, replicate)
    return read_predictions(host, await bench.sandbox.run(program, host.payloads(), host))


def read_predictions(host: WorkflowHost, outcomes: Sequence[ProgramOutcome]) -> list[Prediction]:
    """Read what became of a host's items; raise what ended everything, if something did."""
    if host.fatal is not None:
        raise host.fatal
    return [_read_prediction(host, j, outcome) for j, outcome in enumerate(outcomes)]


def _read_prediction(host: WorkflowHost, index: int, outcome: ProgramOutcome) -> Prediction:
    item, used = host.items[index], host.tallies[index]
    option, status, reason, step = None, PredictionStatus.UNREADABLE, outcome.reason, ""
    if used.failed:
        status, reason = PredictionStatus.FAILED, used.failed
    elif outcome.answer is None and used.no_reply:
        reason = used.no_reply
    elif outcome.answer is not None:
        read = read_reply(outcome.answer, item.shown_options, ReplyForm(notation=host.bench.shape.answer))
        if read.option is None:
            reason = read.reason
        else:
            option, step = item.permutation[read.option], str(read.step)
            status, reason = PredictionStatus.OK, ""
    return Prediction(
        item.id,
        option,
        status,
        reason,
        sample=host.replicate,
        raw=outcome.answer or "",
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        seconds=used.seconds,
        step=step,
    )


async def dry_run_program(
    program: Program,
    *,
    sandbox: Sandbox,
    roles: Sequence[Role],
    shape: PromptFormat = DEFAULT_FORMAT,
    sizes: Iterable[int] = SIZES,
) -> int:
    """Run a program on made-up items of several sizes, with replies that are always in order.

    Returns
    -------
    int
        Most calls that it made for one item: what an item will cost at least.

    Raises
    ------
    ProgramRefused
        If the gate refuses it, or it fails, or does not return an option that the model named.
    """
    most = 0
    shape = replace(shape, style="json")  # whose schema says what to play along with
    for size in sizes:
        for pick in (0, -1):  # a critic who is content, and one who never is
            broker = ObligingBroker(pick)
            bench = Workbench(broker, sandbox, roles, shape)
            (prediction,) = await answer_items(program, [_item(size)], bench)
            most = max(most, len(broker.asked))
            if prediction.status is not PredictionStatus.OK:
                said = f" from {prediction.raw[:100]!r}" if prediction.raw else ""
                raise ProgramRefused(
                    f"workflow {program.name!r} names no option of {size} in the smoke run: "
                    f"{prediction.reason}{said}"
                )
    return most


def _item(size: int) -> Item:
    options = tuple(f"option {chr(97 + j) * 3}" for j in range(size))
    return Item("smoke", "Which one is it?", options, tuple(reversed(range(size))))
