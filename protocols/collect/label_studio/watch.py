"""Watch a campaign: what its answers say so far, without being misled by who answers faster.

Experts do not answer equally fast: while only the cardiologist has answered, every answer is about
cardiology. So the running estimate uses the same share of every queue, as large as the slowest expert allows
(`oversight.harness.estimate.collected_part`). A question that was passed over in it is missing for a reason
that nobody knows: the interval holds whatever would have been answered, or says that it may not hold.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from oversight.harness import BadInput, EstimateError
from oversight.harness.analysis import OpenStudy, describe_errors
from oversight.harness.columns import keep_drawn, keep_predicted
from oversight.harness.config import Study
from oversight.harness.estimate import accuracy
from oversight.harness.store import Store
from oversight.harness.types import Estimate
from oversight.protocols.collect.label_studio.campaign import Campaign
from oversight.protocols.collect.label_studio.campaign_results import Difference
from oversight.protocols.collect.progress import QueueProgress, QueueShare, measure_progress, share_queues


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
    waiting
        The question that this expert has to answer next; empty when all is answered.
    passed
        Expert → questions that were passed over: missing data.
    used
        Number of answers that the estimates rest on.
    estimates
        Model → running estimate with its anytime-valid interval.
    undefined
        Model → why there is none yet.
    reached
        Whether every model's interval is as narrow as was asked for, and holds.
    """

    difference: Difference
    follow: int
    progress: Mapping[str, QueueProgress]
    share: float
    slowest: str
    waiting: str
    passed: Mapping[str, Sequence[str]]
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

    Raises
    ------
    BadInput
        If a model named was not run.
    """
    for name in models or ():
        if name not in {run["name"] for run in campaign.store.runs.read_runs()}:
            raise BadInput(f"the model {name!r} was not run; see: oversight run --help")
    while True:
        look = take_look(campaign, models, until_width)
        yield look
        if look.is_last:
            return
        time.sleep(every)


def take_look(
    campaign: Campaign, models: Sequence[str] | None = None, until_width: float | None = None
) -> Look:
    """Pull, send what follows, and estimate from what is stored by now; of a panel, nothing."""
    difference, follow = campaign.pull(), campaign.push_next()
    study, store = campaign.study, campaign.store
    queues = QueueShare(passed={})
    estimates, undefined = dict[str, Estimate](), dict[str, str]()
    if not study.experts.is_panel:
        queues = share_queues(store)
        estimates, undefined = estimate_running(study, store, models)
    width = 1.0 if undefined else max((e.high - e.low for e in estimates.values()), default=1.0)
    return Look(
        difference=difference,
        follow=follow,
        progress=measure_progress(study, store),
        share=queues.share,
        slowest=queues.slowest,
        waiting=queues.waiting,
        passed=queues.passed,
        used=max((_count_used(e) for e in estimates.values()), default=0),
        estimates=estimates,
        undefined=undefined,
        reached=until_width is not None and width <= until_width and all(e.holds for e in estimates.values()),
    )


def _count_used(estimate: Estimate) -> int:
    return estimate.n.ordinary + estimate.n.complementary + estimate.n.abstained


def estimate_running(
    study: Study, store: Store, models: Sequence[str] | None
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Estimate each model (or those named, newest runs) from the answers so far, or say why not."""
    opened = OpenStudy(study, store)
    labels, options = opened.labels, store.columns.read_options(opened.index)
    newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
    estimates, undefined = {}, {}
    for name in models or newest:
        run = store.run_columns.read_run(newest[name], opened.index).predictions
        predictions = keep_drawn(run, labels)
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
    errors = describe_errors(opened.controls)
    return {name: replace(e, why=e.why or errors) for name, e in estimates.items()}, undefined
