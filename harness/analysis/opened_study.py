"""A study with its open database: what was asked and answered, and which of its runs are looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from oversight.harness.analysis.controls import ControlAnswers, read_control_answers
from oversight.harness.analysis.correction import Correction, doubt_answers, find_correction, find_rates
from oversight.harness.analysis.inputs import advise_on_texts, study_clusters
from oversight.harness.arrays import IntArray
from oversight.harness.columns import (
    RELEVANT_EXCESS,
    ItemIndex,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    count_repeated,
)
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import ErrorRanges
from oversight.harness.output import counted, did_you_mean
from oversight.harness.store import RunColumns, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRuns:
    """Runs with answers, and remarks on those left out: without an answer yet, and of judges."""

    runs: Sequence[dict[str, Any]]
    left_out: Sequence[str]
    judges: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """Names of the models."""
        return [run["name"] for run in self.runs]

    @property
    def remarks(self) -> tuple[str, ...]:
        """All remarks on runs left out."""
        return (*self.left_out, *self.judges)


def find_newest_runs(store: Store, names: Sequence[str] | None, judges: Collection[str] = ()) -> ChosenRuns:
    """Find the newest run of every model that has answers, or of those named.

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


FIRST_ONLY = "results by class use first answers only"


class OpenStudy:
    """A study and its open database. Each part is read when it is first used, and kept."""

    def __init__(self, study: Study, store: Store) -> None:
        self.study, self.store = study, store

    @cached_property
    def index(self) -> ItemIndex:
        """The items by place."""
        return self.store.columns.read_index()

    @cached_property
    def labels(self) -> LabelColumns:
        """The labels with their design: clusters that study.toml names, items drawn from a pool.

        Raises
        ------
        BadInput
            If somebody answered another expert's question.
        DataError
            If an item has no cluster.
        """
        labels = self.store.columns.read_labels(self.index)
        labels = replace(labels, pool=self.store.pool.read_pool(self.index))
        clusters = study_clusters(self.study)
        return replace(labels, cluster=ItemValues.of(clusters, self.index)) if clusters else labels

    @cached_property
    def second_labels(self) -> LabelColumns | None:
        """Second questions about the same items and their answers; None without any."""
        second = self.store.columns.read_labels(self.index, second=True)
        return second if second.drawn is not None else None

    @cached_property
    def n_options(self) -> IntArray:
        """Shape (items,): number of options of every item."""
        options = self.store.columns.read_options(self.index)
        return np.array([options[name] for name in self.index.ids], np.int64)

    @cached_property
    def controls(self) -> ControlAnswers | None:
        """Answers to control questions; None if none was drawn."""
        return read_control_answers(self.store)

    @cached_property
    def runs(self) -> StoredRuns:
        """The newest runs of all models that have answers, judges among them."""
        return StoredRuns(self.store, find_newest_runs(self.store, None).runs, self.index)

    def choose(self, names: Sequence[str] | None = None) -> ChosenRuns:
        """Choose the newest runs of the models named, or of all but the judges; see `find_newest_runs`."""
        return find_newest_runs(self.store, names, self.study.judges)

    def predict(self, chosen: ChosenRuns) -> dict[str, PredictionColumns]:
        """Read the predictions of all items by the chosen runs."""
        return {name: self.runs[name] for name in chosen.names}

    def read_judges(self) -> dict[str, PredictionColumns]:
        """Read the predictions of the study's judges.

        Raises
        ------
        BadInput
            If one of them was not run or has no answers yet.
        """
        judges = self.study.judges
        return self.predict(find_newest_runs(self.store, judges)) if judges else {}

    def expect_answers(self) -> None:
        """Raise BadInput unless an expert has answered."""
        if not len(self.labels):
            raise BadInput("there are no answers yet; see: oversight label --help")

    @cached_property
    def correction(self) -> Correction | None:
        """How estimates allow for experts' errors; None if nothing is known of them."""
        return find_correction(self.study, self.controls, self.labels)

    @cached_property
    def rates(self) -> ErrorRanges | None:
        """What gold and study.toml tell of experts' error rates; None if neither does."""
        return find_rates(self.study, self.controls)

    @cached_property
    def doubt(self) -> str:
        """Why estimates that take every answer for right may not hold; empty if no error is known."""
        return doubt_answers(self.study, self.controls)

    @cached_property
    def repeated(self) -> str:
        """Why intervals may not hold because answered items repeat each other's texts; empty if few do.

        Items of one cluster may repeat each other's texts.
        """
        labels = self.labels
        items = np.flatnonzero(labels.answered)
        cluster = None if labels.cluster is None else labels.cluster.code[items]
        found = count_repeated(self.store.columns.read_text_digests(self.index)[items], cluster)
        if found.excess <= RELEVANT_EXCESS:
            return ""
        return (
            f"{found.items} of {items.size} answered items share their text with another one, and count as "
            f"independent; {advise_on_texts(self.study)}"
        )

    @property
    def questions(self) -> dict[str, int]:
        """Number of questions ``drawn`` and ``answered``."""
        return {"drawn": len(self.labels.drawn or ()), "answered": len(self.labels)}

    @property
    def pool(self) -> tuple[int, int] | None:
        """Number of items drawn, and of items in all; None if all are to be asked about."""
        pool = self.labels.pool
        return None if pool is None else (pool.number, pool.size)

    def tell_unused(self, why: str = "only oversight estimate uses them") -> str:
        """Say that second questions are not used, and why; empty without any."""
        second = len(self.store.content.read_questions(second=True))
        return f"{counted(second, 'second question')} about items answered no: {why}" if second else ""
