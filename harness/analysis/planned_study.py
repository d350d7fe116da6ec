"""What further questions of a study will buy, from its runs and the answers that it has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oversight.harness.analysis.chosen_runs import find_judges, find_newest_runs
from oversight.harness.analysis.collected_labels import study_labels
from oversight.harness.analysis.controls import find_correction, read_control_answers
from oversight.harness.analysis.options import refuse_panel, requested_interval
from oversight.harness.columns import LabelColumns
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import PilotPlan, plan_from_pilot
from oversight.harness.store import Store


def plan_study(
    store: Store,
    study: Study,
    *,
    runs: Sequence[str] | None = None,
    protocol: str | None = None,
    half_width: float | None = None,
    questions: int | None = None,
    level: float | None = None,
) -> PilotPlan:
    """Plan by a study's answers so far; all its runs vote, its judges judge.

    Parameters
    ----------
    runs
        Names of models; None takes those that the study's questions look at, by default all but the judges.
    protocol
        Of the study to plan; None takes the study's own.
    half_width, questions, level
        As of `plan_from_pilot`; the level is the study's by default.

    Raises
    ------
    BadInput
        If there are no answers or no predictions yet, or the study has what a plan does not allow for.
    EstimateError
        If an argument is out of range.
    """
    refuse_panel(study, "plan")
    index = store.columns.read_index()
    labels = study_labels(study, store, index)
    if not len(labels):
        raise BadInput(
            "there are no answers yet, and what votes, a judge or a pool save is not known before; ask a "
            "pilot (oversight label route --questions 100), or plan without a study (--options K)"
        )
    _refuse_study(store, study, labels)
    named = runs or study.experts.models or None
    chosen, judges = find_newest_runs(store, named, study.judges), find_judges(store, study.judges)
    voters = find_newest_runs(store, None).runs
    looked_at = study.experts.models or [
        run["name"] for run in find_newest_runs(store, None, study.judges).runs
    ]
    known = {run["name"]: run["id"] for run in (*voters, *chosen.runs, *judges)}
    predictions = {name: store.run_columns.read_run(run, index).predictions for name, run in known.items()}
    options = store.columns.read_options(index)
    return plan_from_pilot(
        {run["name"]: predictions[run["name"]] for run in chosen.runs},
        labels,
        judges={run["name"]: predictions[run["name"]] for run in judges},
        voters={run["name"]: predictions[run["name"]] for run in voters},
        protocol=study.experts.protocol if protocol is None else protocol,
        asked_for=looked_at,
        half_width=half_width,
        questions=questions,
        level=study.estimate.level if level is None else level,
        epsilon=study.experts.epsilon,
        n_options=np.array([options[name] for name in index.ids], np.int64),
    )


def _refuse_study(store: Store, study: Study, labels: LabelColumns) -> None:
    """Refuse what a plan does not allow for.

    Raises
    ------
    BadInput
        Naming it.
    """
    correction = find_correction(study, read_control_answers(store), labels)
    section, interval = study.estimate, requested_interval(study)
    reasons = {
        "items.cluster: a plan takes items as independent": labels.cluster is not None,
        "estimate.strata: a plan is of estimates without strata": section.strata or section.panel,
        f"estimate.interval: a plan is of the exact interval, not of {section.interval!r}": interval,
        "experts: the estimates allow for experts' errors, which a plan does not": correction is not None
        and (correction.gold or correction.name),
    }
    for reason, holds in reasons.items():
        if holds:
            raise BadInput(f"{reason}; see what it costs with: oversight plan --options K")
