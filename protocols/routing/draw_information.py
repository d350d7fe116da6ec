"""Collect what is known about items before a draw: model predictions, judges' probabilities, earlier answers.

A draw that uses this information records its probabilities, so estimates are valid even if the information
is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from oversight.harness import AnyIntArray, FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, YES, ItemIndex
from oversight.harness.config import Study
from oversight.harness.estimate import guess_right
from oversight.harness.output import counted
from oversight.harness.store import Store
from oversight.protocols.routing.routing_protocol import OptionProbabilities

if TYPE_CHECKING:
    from oversight.harness.estimate import AnswersSoFar, JudgeOpinion


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawInformation:
    """Model predictions, judges' probabilities and experts' answers for N items.

    Attributes
    ----------
    predicted
        Shape (N, M): option that each of M models predicts; −1 if the model names none.
    n_options
        Shape (N,): number of options K.
    looked_at
        Columns of `predicted` for the models that the protocol uses; by default all models except judges.
    judges
        Names of the study's judges; empty unless all of them were run.
    not_run
        Reason why the study's judges are not used; empty if they are used or the study has none.
    opinions
        Probabilities of the judges about these items.
    answers
        Experts' answers so far, with each item given by its position; None if they were not requested.
    """

    predicted: AnyIntArray
    n_options: IntArray
    looked_at: list[int]
    judges: Sequence[str] = ()
    not_run: str = ""
    opinions: Sequence[JudgeOpinion] = field(default=())
    answers: AnswersSoFar | None = None

    def guess_by_votes(self) -> FloatArray:
        """Estimate per item the probability that each model in `looked_at` is right, from models' votes.

        The result has shape (N, number of models in `looked_at`).
        """
        return guess_right(self.predicted, self.n_options)[:, self.looked_at]

    def guess_by_judges(self) -> FloatArray:
        """Estimate the same probabilities as `guess_by_votes`, but from judges and answers so far."""
        from oversight.harness.estimate import guess_by_judges

        chosen = self.predicted[:, self.looked_at]
        return guess_by_judges(chosen, self.opinions, self.n_options, self.answers)

    def tell_judges(self) -> str:
        """Return a text with the name of the only judge, or with the number of judges: ``3 judges``."""
        return (
            f"the judge {self.judges[0]!r}" if len(self.judges) == 1 else counted(len(self.judges), "judge")
        )


def read_known(study: Study, store: Store, ids: Sequence[str], *, asked: bool = False) -> DrawInformation:
    """Read the predictions of each model's newest run, and the judges' probabilities, for these items.

    Parameters
    ----------
    asked
        Whether to include the experts' answers so far.

    Raises
    ------
    BadInput
        If a model that the study names was not run.
    """
    # Import these modules here, because they load slowly and most draws do not need them.
    from oversight.harness.analysis import find_newest_runs
    from oversight.harness.estimate import JudgeOpinion

    index, named = store.columns.read_index(), study.experts.models
    places, options = index.find_places(ids), store.columns.read_options(index)
    n_options = np.array([options[name] for name in ids], np.int64)
    if named:
        find_newest_runs(store, named)
    runs = _find_answered_runs(store)
    columns = {name: store.run_columns.read_run(run, index).predictions for name, run in runs.items()}
    votes = [found.option[places] for found in columns.values()]
    predicted = np.stack(votes, axis=1) if votes else np.zeros((len(ids), 0), np.int64)
    candidates = named or [name for name in runs if name not in study.judges]
    missing = [name for name in study.judges if name not in runs]
    judges = [] if missing else study.judges
    return DrawInformation(
        predicted=np.maximum(predicted, -1),
        n_options=n_options,
        looked_at=[column for column, name in enumerate(runs) if name in candidates],
        judges=judges,
        not_run=f"the judge {missing[0]!r} was not run" if missing else "",
        opinions=[JudgeOpinion.of(columns[name]).take(places) for name in judges],
        answers=_read_answers(store, index, places) if asked else None,
    )


def _find_answered_runs(store: Store) -> dict[str, str]:
    """Return name → id of each model's newest run, if this run has at least one answer."""
    newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
    return {name: run for name, run in newest.items() if store.run_columns.has_answer(run)}


def _read_answers(store: Store, index: ItemIndex, places: IntArray) -> AnswersSoFar:
    """Return the experts' yes and no answers about the items at these positions."""
    from oversight.harness.estimate import AnswersSoFar

    labels, row = store.columns.read_labels(index), np.full(index.size, -1)
    row[places] = np.arange(len(places))
    said = np.flatnonzero((labels.kind != ABSTAINED) & (row[labels.item] >= 0))
    return AnswersSoFar(
        item=row[labels.item[said]],
        asked=labels.option[said],
        answer=(labels.kind[said] == YES).astype(np.float64),
    )


def read_judge_probabilities(study: Study, store: Store) -> OptionProbabilities:
    """Return the judges' probability of every option of every item; empty unless all judges were run."""
    runs = _find_answered_runs(store) if study.judges else {}
    if not runs or any(name not in runs for name in study.judges):
        return {}
    from oversight.harness.estimate import judge_probabilities

    index = store.columns.read_index()
    options = store.columns.read_options(index)
    n_options = np.array([options[name] for name in index.ids], np.int64)
    judges = [store.run_columns.read_run(runs[name], index).predictions for name in study.judges]
    each = judge_probabilities(judges, n_options).tolist()
    return {name: row[:k] for name, row, k in zip(index.ids, each, n_options.tolist(), strict=True)}
