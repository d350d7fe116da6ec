"""Watch a campaign: what its answers say so far, without being misled by who answers faster.

Options are drawn uniformly, but experts do not answer equally fast: while only the cardiologist has
answered, every answer is about cardiology, and the estimate would be of nothing. Each expert's queue is
in random order, so the same share f of every queue, from its start, is a random part of all questions.
The running estimate uses just these, with f as large as the slowest expert allows.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness import BadInput, EstimateError
from harness.analysis import describe_errors, read_control_answers, study_labels
from harness.columns import keep_drawn
from harness.config import Study
from harness.estimate import accuracy, keep_predicted
from harness.store import QueuedTask, Store
from harness.types import Estimate
from protocols.collect.label_studio.campaign import Campaign, Difference
from protocols.collect.label_studio.queue_progress import QueueProgress, measure_progress
from protocols.collect.label_studio.server import listen_for_webhooks

_GAP = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look at a campaign that goes on.

    Attributes
    ----------
    difference
        What the pull changed.
    follow
        Number of questions that follow from the answers and were sent.
    progress
        Expert → how far.
    share
        Share of every queue, from its start, that has been answered by all.
    slowest
        The expert whom that share waits for; empty when all is answered.
    used
        Number of answers that the estimates rest on.
    estimates
        Model → running estimate with its anytime-valid interval.
    undefined
        Model → why there is none yet.
    reached
        Whether every model's interval is as narrow as was asked for.
    """

    difference: Difference
    follow: int
    progress: Mapping[str, QueueProgress]
    share: float
    slowest: str
    used: int
    estimates: Mapping[str, Estimate]
    undefined: Mapping[str, str]
    reached: bool

    @property
    def open(self) -> int:
        """Questions that are still open."""
        return sum(p.open for p in self.progress.values())

    @property
    def is_last(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.reached or self.open == 0


def watch_campaign(
    campaign: Campaign,
    *,
    every: float,
    models: Sequence[str] | None = None,
    until_width: float | None = None,
    webhook: int | None = None,
) -> Generator[Look]:
    """Pull again and again, until the width is reached or all is answered.

    Parameters
    ----------
    every
        Seconds between pulls.
    models
        Names of runs to estimate; all of them if None.
    until_width
        Width of the widest interval at which to stop.
    webhook
        Port at which servers on this machine wake the next pull early.

    Raises
    ------
    BadInput
        If a model named was not run.
    """
    for name in models or ():
        if name not in {run["name"] for run in campaign.store.runs.read_runs()}:
            raise BadInput(f"the model {name!r} was not run; see: oversight run --help")
    hint = threading.Event()
    with contextlib.ExitStack() as stack:
        if webhook is not None:
            stack.enter_context(listen_for_webhooks(campaign.find_projects(), webhook, hint))
        while True:
            look = take_look(campaign, models, until_width)
            yield look
            if look.is_last:
                return
            if hint.wait(every):
                hint.clear()
                time.sleep(min(_GAP, every))  # who answers fast must not be pulled at every click


def take_look(
    campaign: Campaign, models: Sequence[str] | None = None, until_width: float | None = None
) -> Look:
    """Pull, send what follows, and estimate from what is stored by now; of a panel, nothing."""
    difference, follow = campaign.pull(), campaign.push_next()
    study, store = campaign.study, campaign.store
    used, share, slowest = list[str](), 0.0, ""
    estimates, undefined = dict[str, Estimate](), dict[str, str]()
    if not study.experts.is_panel:
        answered, apart = store.replies(panel=False).read_replies(), store.controls.read_experts()
        second = {q.id for q in store.content.read_questions(second=True)}
        tasks = [task for task in store.labelling.read_tasks() if task.question_id not in second]
        reached, share, slowest = balance_queues(tasks, answered)
        used = [name for name in reached if name not in apart]
        estimates, undefined = estimate_running(study, store, used, models)
    width = 1.0 if undefined else max((e.high - e.low for e in estimates.values()), default=1.0)
    return Look(
        difference=difference,
        follow=follow,
        progress=measure_progress(study, store),
        share=share,
        slowest=slowest,
        used=len(used),
        estimates=estimates,
        undefined=undefined,
        reached=until_width is not None and width <= until_width,
    )


def estimate_running(
    study: Study, store: Store, used: Sequence[str], models: Sequence[str] | None
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Estimate each model (or those named, newest runs) from answers to these questions, or say why not."""
    index = store.columns.read_index()
    labels, options = study_labels(study, store, index, only=used), store.columns.read_options(index)
    newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
    estimates, undefined = {}, {}
    for name in models or newest:
        predictions = keep_drawn(store.run_columns.read_run(newest[name], index).predictions, labels)
        try:
            estimates[name] = accuracy(
                predictions,
                keep_predicted(labels, predictions),
                interval="anytime",
                level=study.estimate.level,
                n_options=options,
            )
        except EstimateError as error:
            undefined[name] = str(error)
    errors = describe_errors(read_control_answers(store))
    return {name: replace(e, why=e.why or errors) for name, e in estimates.items()}, undefined


def balance_queues(tasks: Iterable[QueuedTask], answered: Collection[str]) -> tuple[list[str], float, str]:
    """Answered questions of the same share of every queue, that share, and whom it waits for.

    Examples
    --------
    >>> balance_queues([], set())
    ([], 0.0, '')
    """
    queues: dict[str, list[str]] = defaultdict(list)
    for task in sorted(tasks, key=lambda t: t.place):
        queues[task.expert].append(task.question_id)
    if not queues:
        return [], 0.0, ""
    done = {
        expert: next((j for j, q in enumerate(queue) if q not in answered), len(queue)) / len(queue)
        for expert, queue in queues.items()
    }
    slowest = min(done, key=lambda expert: done[expert])
    share = done[slowest]
    used = [q for queue in queues.values() for q in queue[: int(share * len(queue) + 1e-9)]]
    return used, share, "" if share == 1.0 else slowest
