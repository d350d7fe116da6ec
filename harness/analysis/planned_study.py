"""Plan further questions of a study from its runs and answers."""

from __future__ import annotations

from collections.abc import Sequence

from oversight.harness.analysis.opened_study import OpenStudy, refuse_panel, requested_interval
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import PilotPlan, plan_from_pilot, refuse
from oversight.harness.store import Store

_ELSE = "plan without the study's answers: oversight plan --options K"


def plan_study(
    store: Store,
    study: Study,
    *,
    runs: Sequence[str] | None = None,
    half_width: float | None = None,
    questions: int | None = None,
) -> PilotPlan:
    """Plan further questions from a study's answers so far, and from its runs' and judges' predictions.

    Parameters
    ----------
    runs
        Names of models; None for the models that ``[experts] models`` names or, if it is empty, for all
        except judges.
    half_width, questions
        As in `plan_from_pilot`.

    Raises
    ------
    BadInput
        If there are no answers or no predictions yet, or the study uses something that plans do not support.
    EstimateError
        If an argument is out of range.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     found = plan_study(store, study, half_width=0.1)
    ...
    >>> found.protocol, [row.model for row in found.rows][:1]
    ('partitioned', ['careful'])
    """
    refuse_panel(study, "plan")
    opened = OpenStudy(study, store)
    if not len(opened.labels):
        raise BadInput(
            "there are no answers yet from which a plan could be computed; collect a "
            "pilot (oversight label route --questions 100), or plan without a study (--options K)"
        )
    correction, section = opened.correction, study.estimate
    refuse("plan", opened.labels.conditions, strata=bool(section.strata or section.panel))
    if requested_interval(study):
        raise BadInput(
            f"estimate.interval: plans support only the exact interval, not {section.interval!r}; {_ELSE}"
        )
    if correction is not None and (correction.gold or correction.name):
        raise BadInput(
            f"experts: estimates of this study correct for experts' errors, but plans cannot; {_ELSE}"
        )
    named = study.experts.models
    chosen, judges = opened.choose(runs or named or None), opened.read_judges()
    return plan_from_pilot(
        opened.predict(chosen),
        opened.labels,
        judges=judges,
        voters=dict(opened.runs),
        protocol=study.experts.protocol,
        asked_for=named or opened.choose().names,
        half_width=half_width,
        questions=questions,
        level=study.estimate.level,
        epsilon=study.experts.epsilon,
        n_options=opened.n_options,
    )
