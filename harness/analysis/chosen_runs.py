"""Which stored runs of a study are looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oversight.harness.columns import ItemIndex, PredictionColumns
from oversight.harness.errors import BadInput
from oversight.harness.output import did_you_mean
from oversight.harness.store import RunColumns, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRuns:
    """Runs with answers, and what is said of those left out: without an answer yet, and of judges."""

    runs: Sequence[dict[str, Any]]
    left_out: Sequence[str]
    judges: Sequence[str] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """All that is said of runs left out."""
        return (*self.left_out, *self.judges)


def find_newest_runs(store: Store, names: Sequence[str] | None, judges: Collection[str] = ()) -> ChosenRuns:
    """The newest run of every model that has answers, or of those named.

    Parameters
    ----------
    names
        Models; None takes all but the judges.
    judges
        Models that are no candidates unless they are named.

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
    told = [] if names else [name for name in newest if name in judges]
    runs, left_out = list[dict[str, Any]](), list[str]()
    for name in names or (name for name in newest if name not in judges):
        if store.run_columns.has_answer(newest[name]["id"]):
            runs.append(newest[name])
        else:
            failed = store.runs.count_predictions(newest[name]["id"])
            left_out.append(f"run {name!r} has no answers yet" + (f" ({failed} failed)" if failed else ""))
    if left_out and (names or not runs):
        raise BadInput(f"{left_out[0]}; see: oversight run --help")
    if not runs:
        raise BadInput(f"only judges were run yet ({', '.join(told)}); see: oversight run --help")
    remarks = [f"{name!r} is a judge: name it with --model to see it among the models" for name in told]
    return ChosenRuns(runs=runs, left_out=left_out, judges=remarks)


class StoredRuns(Mapping[str, PredictionColumns]):
    """Runs by the names of their models: predictions of all items, each run read when it is first used."""

    def __init__(self, store: Store, runs: Sequence[Mapping[str, Any]], index: ItemIndex) -> None:
        self.runs = {run["name"]: run for run in runs}
        self._store, self._index = store, index
        self._read = dict[str, RunColumns]()

    def answered(self, name: str) -> RunColumns:
        """All that the run of a model has answered, with its usage."""
        if name not in self._read:
            self._read[name] = self._store.run_columns.read_run(self.runs[name]["id"], self._index)
        return self._read[name]

    def __getitem__(self, name: str) -> PredictionColumns:
        return self.answered(name).predictions

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


def find_judges(store: Store, names: Sequence[str]) -> Sequence[dict[str, Any]]:
    """The newest run of every judge.

    Raises
    ------
    BadInput
        If one of them was not run or has no answers yet.
    """
    return find_newest_runs(store, names).runs if names else ()
