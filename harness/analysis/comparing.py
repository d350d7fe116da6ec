"""The models of a study compared by what its experts said."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.study_report import find_newest_runs
from harness.config import Study
from harness.errors import BadInput
from harness.estimate import ModelComparison, compare, decode
from harness.store import Store


def compare_study(
    study: Study,
    names: Sequence[str] | None = None,
    *,
    test: str = "auto",
    adjustment: str = "max-z",
    level: float | None = None,
) -> ModelComparison:
    """`harness.compare` of the newest runs of a study, or of those named; at the study's level.

    Raises
    ------
    BadInput
        If fewer than two models were run, there are no answers, or the protocol does not allow the test.
    """
    with Store(study.store_url) as store:
        runs = find_newest_runs(store, names)
        models = {run["name"]: store.runs.read_predictions(run["id"]) for run in runs}
        questions, answers = store.content.read_questions(), store.content.read_answers()
    if len(models) > 1 and not answers:
        raise BadInput("there are no answers yet; see: oversight label --help")
    labels = decode(answers, questions)
    return compare(models, labels, test=test, adjustment=adjustment, level=level or study.estimate.level)
