"""The next steps of a collection, as sentences with commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from oversight.harness.config import Study
from oversight.harness.store import Store
from oversight.protocols.collect.progress import QueueProgress

_NAMED = 3
"""Largest number of people named among those with open questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """A sentence about the next step, and its command."""

    sentence: str
    command: str


def find_next_steps(
    study: Study, store: Store, progress: Mapping[str, QueueProgress], quarantined: int
) -> list[NextStep]:
    """List the next steps, the most urgent first.

    Parameters
    ----------
    progress
        Person → progress; empty if no question was drawn yet.
    quarantined
        Number of annotations that do not count.
    """
    panel = study.experts.is_panel
    if not progress:
        whom = "nobody rates anything yet" if panel else "nobody is asked anything yet"
        return [NextStep(sentence=f"Nothing was drawn: {whom}.", command="oversight label route")]
    steps = []
    if quarantined:
        text = "1 annotation counts" if quarantined == 1 else f"{quarantined:,} annotations count"
        steps.append(
            NextStep(
                sentence=f"{text} for nothing; look at why, so that no answer is lost.",
                command="oversight label status --json",
            )
        )
    if left := sum(p.open for p in progress.values()):
        return [*steps, *_collect(store, progress, left, "rating" if panel else "question")]
    return [*steps, _finish(study, store)]


def _collect(store: Store, progress: Mapping[str, QueueProgress], left: int, what: str) -> list[NextStep]:
    """Return the steps that collect open questions: from the server in a campaign, otherwise from files."""
    asked = sum(p.asked for p in progress.values())
    waiting = sorted((p for p in progress.items() if p[1].open), key=lambda pair: -pair[1].open)
    named = ", ".join(f"{name} ({p.open:,})" for name, p in waiting[:_NAMED])
    more = f" and {len(waiting) - _NAMED} more" if len(waiting) > _NAMED else ""
    text = f"{left:,} of {asked:,} {what}s are open; they wait for {named}{more}."
    queues = store.labelling.read_queues()
    if not any(not queue.closed for queue in queues.values()):
        return [
            NextStep(sentence=f"{text} Write them to files to fill in:", command="oversight label export"),
            NextStep(
                sentence="Then read the filled-in files; or ask on a page (oversight label serve), or on "
                "Label Studio (oversight label push):",
                command="oversight label import questions/*.csv",
            ),
        ]
    unsent = sum(t.task_id is None for t in store.labelling.read_tasks())
    steps = [NextStep(sentence=f"{text} Bring home what they answer:", command="oversight label watch")]
    unqueued = sum(not p.queued for _, p in waiting)
    if unsent or unqueued:
        steps.append(
            NextStep(sentence="Some are not on the server yet; send them.", command="oversight label push")
        )
    return steps


def _finish(study: Study, store: Store) -> NextStep:
    if study.experts.is_panel:
        return NextStep(
            sentence="Every rating is in: look at the agreement.", command="oversight panel agree"
        )
    if study.experts.statement.asks_on:
        return NextStep(
            sentence="Every question is answered; more may follow from the answers.",
            command="oversight label route",
        )
    if not store.runs.read_runs():
        return NextStep(
            sentence="Every question is answered, and no model was run yet.", command="oversight run"
        )
    return NextStep(sentence="Every question is answered.", command="oversight estimate")
