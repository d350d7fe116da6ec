"""Run all requests of a study through Batch APIs, which answer at a lower price within hours.

Each batch is recorded in the store, with a random marker, before it is submitted. Its metadata at the
endpoint contains the marker too. So after a command was killed, the next command finds its batches and does
not submit them again. Answers are stored like the answers of single calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from oversight.harness.distribution import require
from oversight.harness.errors import ConfigError, FatalModelError, ModelError
from oversight.harness.llm.asking.batch_endpoint import BatchEndpoint
from oversight.harness.llm.asking.batch_run import DEFAULT_LIMITS, LONGEST_POLL, BatchLimits, BatchRun
from oversight.harness.llm.runner.event_loop import run_in_loop
from oversight.harness.llm.runner.preparation import prepare
from oversight.harness.llm.runner.targets import RequestedItems, Target, hold_runs
from oversight.harness.output import say
from oversight.harness.store import Store, Uncertain

if TYPE_CHECKING:
    from oversight.harness.llm.limits.budget import PriceTable


def run_batches(
    wanted: RequestedItems,
    targets: Sequence[Target],
    *,
    prices: PriceTable,
    wait: bool,
    limits: BatchLimits = DEFAULT_LIMITS,
    wait_for_lock: bool = False,
    take_over: bool = False,
    uncertain: Uncertain | None = None,
) -> list[tuple[Target, int]]:
    """Submit all requests without a stored answer, and collect the answers that have arrived.

    Parameters
    ----------
    wait
        Whether to poll until all answers have arrived; the time between two polls doubles, up to one minute.
        If False, poll once.
    wait_for_lock
        Whether to wait until other processes have finished their work on the same runs.
    take_over
        Whether to take over the locks of processes on other machines. The user confirms that these processes
        have ended.
    uncertain
        What happens to a batch if it is unknown whether the endpoint has it: ``"retry"`` submits it again,
        ``"hold"`` counts its requests as failed, None raises an error.

    Returns
    -------
    list of (Target, int)
        Every target, with the number of its requests that are still in unfinished batches.

    Raises
    ------
    ConfigError
        If a model is a function or a command, which has no Batch API.
    ModelError
        If the endpoint refuses a batch, does not know it, or does not return its answers. The error is raised
        after all other batches were collected. The batch counts as unfinished unless it was refused.
    RunHeld
        If another process works on one of the runs.
    Stopped
        If the process receives SIGTERM or SIGHUP; the batches remain unfinished.
    """
    _check(targets)

    async def run(ready: Sequence[Target]) -> list[tuple[Target, int]]:
        async with _open(wanted.store, ready, limits, uncertain) as runs:
            for each in runs:
                await each.hand_over(wanted)
            return await _collect_all(runs, wait=wait, poll=limits.poll)

    with hold_runs(wanted.store, targets, wait=wait_for_lock, take_over=take_over):
        prepared = prepare(wanted, [target.priced(prices) for target in targets])
        for one in prepared:
            if one.error is not None:
                raise one.error
        return run_in_loop(run([one.target for one in prepared]))


def cancel_batches(
    store: Store,
    targets: Sequence[Target],
    *,
    limits: BatchLimits = DEFAULT_LIMITS,
    uncertain: Uncertain | None = None,
    take_over: bool = False,
) -> int:
    """Cancel all unfinished batches, and store the answers that have arrived.

    Returns the number of batches that were unfinished. A batch is marked as cancelled in the store if the
    endpoint does not know it or, with `uncertain` set, gives no information about it. If `uncertain` is
    ``"hold"``, the requests of a batch marked for these reasons count as failed. With any other value, they
    stay without an answer.
    """
    _check(targets)

    async def cancel() -> int:
        settled = [target.settled(store) for target in targets]
        async with _open(store, settled, limits, uncertain, gives_up=True) as runs:
            count = sum([await each.cancel() for each in runs])
            await _collect_all(runs, wait=True, poll=limits.poll)
            return count

    with hold_runs(store, targets, wait=False, take_over=take_over):
        return run_in_loop(cancel())


def _check(targets: Sequence[Target]) -> None:
    require("openai", "the Batch API", "openai")
    for target in targets:
        if target.is_program:
            raise ConfigError(f"{target.spec.name}: no Batch API is available for {target.settings.where}")


@asynccontextmanager
async def _open(
    store: Store,
    targets: Sequence[Target],
    limits: BatchLimits,
    uncertain: Uncertain | None,
    *,
    gives_up: bool = False,
) -> AsyncIterator[list[BatchRun]]:
    from oversight.harness.llm.models.sdk_model import sdk_client  # the SDK may not be installed

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(sdk_client(target.settings)) for target in targets]
        yield [
            BatchRun(store, t, BatchEndpoint(client, t.settings), limits, uncertain, gives_up)
            for t, client in zip(targets, clients, strict=True)
        ]


async def _collect_all(runs: Sequence[BatchRun], *, wait: bool, poll: float) -> list[tuple[Target, int]]:
    while True:
        for run in runs:
            await run.collect(wait=wait)
        waiting = sum(run.count_waiting() for run in runs)
        if not wait or not waiting:
            break
        say(
            f"{waiting:,} requests are in unfinished batches; you can stop this command and run it again "
            "later"
        )
        await asyncio.sleep(poll)
        poll = min(2 * poll, LONGEST_POLL)
    errors = [error for run in runs for error in run.errors.values()]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        is_passing = all(error.exit_code == 1 for error in errors)
        raise (ModelError if is_passing else FatalModelError)("; ".join(map(str, errors)))
    return [(run.target, sum(len(batch.requests) for batch in run.find_under_way())) for run in runs]
