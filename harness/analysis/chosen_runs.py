"""Which stored runs of a study are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import BadInput
from harness.output import did_you_mean
from harness.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRuns:
    """Runs with answers, and what is said of those that have none yet and were left out."""

    runs: Sequence[dict[str, Any]]
    left_out: Sequence[str]


def find_newest_runs(store: Store, names: Sequence[str] | None) -> ChosenRuns:
    """The newest run of every model that has answers, or of those named.

    Raises
    ------
    BadInput
        If a model named was not run or has no answers yet, or there are no answers of any.
    """
    newest = {run["name"]: run for run in store.runs.read_runs()}
    if not newest:
        raise BadInput("no model was run yet; see: oversight run --help")
    for name in names or ():
        if name not in newest:
            known = f"there are: {', '.join(newest)}{did_you_mean(name, newest)}"
            raise BadInput(f"the model {name!r} was not run; {known}")
    runs, left_out = list[dict[str, Any]](), list[str]()
    for name in names or newest:
        if store.run_columns.has_answer(newest[name]["id"]):
            runs.append(newest[name])
        else:
            failed = store.runs.count_predictions(newest[name]["id"])
            left_out.append(f"run {name!r} has no answers yet" + (f" ({failed} failed)" if failed else ""))
    if left_out and (names or not runs):
        raise BadInput(f"{left_out[0]}; see: oversight run --help")
    return ChosenRuns(runs=runs, left_out=left_out)
