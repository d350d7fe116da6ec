"""Watch a campaign and estimate from its answers so far, without bias from fast experts.

Experts answer at different speeds: while only the cardiologist has answered, every answer is about
cardiology. So the running estimate uses the same share of every queue, as large as the slowest expert allows
(`oversight.harness.estimate.collected_part`). If an expert passed over a question within this share, its
answer is missing for an unknown reason. The interval then covers all possible answers to the question, or is
marked as possibly invalid.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from oversight.harness import EstimateError
from oversight.harness.analysis import OpenStudy, describe_errors
from oversight.harness.columns import keep_drawn, keep_predicted
from oversight.harness.config import Study
from oversight.harness.estimate import accuracy
from oversight.harness.store import Store
from oversight.harness.types import Estimate
from oversight.protocols.collect.label_studio.campaign import Campaign, Difference
from oversight.protocols.collect.progress.queue_progress import (
    QueueProgress,
    QueueShare,
    measure_progress,
    share_queues,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """State of a running campaign.

    Attributes
    ----------
    difference
        Changes that the pull made to stored answers.
    follow
        Number of follow-up questions that were sent after this pull.
    progress
        Expert → progress.
    share
        Share of the queue that the slowest expert has reached; estimates use this share of every queue.
    slowest
        Name of the slowest expert; empty if all questions are answered.
    waiting
        Id of the slowest expert's next question; empty if all questions are answered.
    passed
        Expert → ids of the questions that the expert passed over, whose answers are missing data.
    used
        Number of answers that the estimates use.
    estimates
        Model → running estimate with its anytime-valid interval.
    undefined
        Model → reason why there is no estimate yet.
    reached
        Whether every model's interval is valid and as narrow as requested.
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
        """Number of open questions."""
        return sum(p.open for p in self.progress.values())

    @property
    def is_last(self) -> bool:
        """Whether the watch ends, because all intervals are narrow enough or no question is open."""
        return self.reached or self.open == 0


def watch_campaign(
    campaign: Campaign,
    *,
    every: float,
    until_width: float | None = None,
) -> Generator[Look]:
    """Pull repeatedly until all intervals are narrow enough or all questions are answered.

    Parameters
    ----------
    every
        Seconds between pulls.
    until_width
        Stop when no interval is wider than this; None to stop only when all questions are answered.
    """
    while True:
        look = take_look(campaign, until_width)
        yield look
        if look.is_last:
            return
        time.sleep(every)


def take_look(campaign: Campaign, until_width: float | None = None) -> Look:
    """Pull answers, send follow-up questions and, unless the study is a panel, estimate from the answers."""
    difference, follow = campaign.pull(), campaign.push_next()
    study, store = campaign.study, campaign.store
    queues = QueueShare(passed={})
    estimates, undefined = dict[str, Estimate](), dict[str, str]()
    if not study.experts.is_panel:
        queues = share_queues(store)
        estimates, undefined = estimate_running(study, store)
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


def estimate_running(study: Study, store: Store) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Estimate the accuracy of each model's newest run from the answers so far.

    Returns model → estimate, and model → reason for models without an estimate.
    """
    opened = OpenStudy(study, store)
    labels, options = opened.labels, store.columns.read_options(opened.index)
    newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
    estimates, undefined = {}, {}
    for name, run_id in newest.items():
        run = store.run_columns.read_run(run_id, opened.index).predictions
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
