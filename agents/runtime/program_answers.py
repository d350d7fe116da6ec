"""Answer items with a program, and return predictions as for a model; dry-run a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from oversight.agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from oversight.agents.runtime.host import DryRunBroker, Workbench, WorkflowHost
from oversight.agents.sandbox import ProgramOutcome, Sandbox
from oversight.harness import ProgramRefused
from oversight.harness.llm import ReplyForm, read_reply
from oversight.harness.types import Item, Prediction, PredictionStatus, Program

SIZES = (2, 4, 11)
"""Default numbers of options of the made-up items in a dry run."""


async def answer_items(
    program: Program, items: Sequence[Item], bench: Workbench, replicate: int = 0
) -> list[Prediction]:
    """Answer every item with a program.

    If a program raises, loops or exceeds a limit, its prediction is UNREADABLE, which counts as wrong. So
    crashing is never an advantage. A prediction is FAILED if a call failed after all retries, even if the
    program returned an answer, because a program must not choose which failures are left out. In a search
    (`Workbench.blames_program`), two failures of a call do not make a prediction FAILED: a reply that stays
    empty or cut short, and a request that the endpoint refuses.

    Parameters
    ----------
    program, items
        The program, and the items to answer.
    bench
        Environment of the run.
    replicate
        Number of the independent replicate; it becomes the predictions' `sample`.

    Returns
    -------
    list of Prediction
        One per item, in order. Tokens are summed over the item's calls, including cached calls.

    Raises
    ------
    ProgramRefused
        If the static gate refuses the source.
    BudgetSpent
        If the budget is exhausted; replies received so far stay in the broker's cache.
    FatalModelError
        If a call failed, and every retry would fail.
    SandboxError
        If the sandbox itself does not work.
    """
    host = WorkflowHost(items, bench, replicate)
    return read_predictions(host, await bench.sandbox.run(program, host.payloads(), host))


def read_predictions(host: WorkflowHost, outcomes: Sequence[ProgramOutcome]) -> list[Prediction]:
    """Turn the outcomes of a host's items into predictions; raise the error that ended the run, if any."""
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
    """Run a program on made-up items with different numbers of options and with made-up replies.

    Returns
    -------
    int
        Largest number of different calls for one made-up item; a real item may need more.

    Raises
    ------
    ProgramRefused
        If the static gate refuses the program, or the program fails or does not return an option.
    """
    most = 0
    # Use the style "json", because made-up replies are derived from its schema.
    shape = replace(shape, style="json")
    for size in sizes:
        # Run the program twice: made-up replies name the first choice in one run, and the last in the other.
        for pick in (0, -1):
            broker = DryRunBroker(pick)
            bench = Workbench(broker, sandbox, roles, shape)
            (prediction,) = await answer_items(program, [_item(size)], bench)
            most = max(most, len(broker.asked))
            if prediction.status is not PredictionStatus.OK:
                said = f" from {prediction.raw[:100]!r}" if prediction.raw else ""
                raise ProgramRefused(
                    f"workflow {program.name!r} chose none of {size} options in the smoke run: "
                    f"{prediction.reason}{said}"
                )
    return most


def _item(size: int) -> Item:
    options = tuple(f"option {chr(97 + j) * 3}" for j in range(size))
    return Item("smoke", "Which one is it?", options, tuple(reversed(range(size))))
