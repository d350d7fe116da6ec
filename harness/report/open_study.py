"""Report on a study from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from oversight.harness.analysis import StudyReport, report_study
from oversight.harness.argument_checks import check_names
from oversight.harness.config import STUDY_FILE, Study, read_study
from oversight.harness.errors import WrongType
from oversight.harness.store import Store


def study_report(
    study: str | os.PathLike[str] | Study = STUDY_FILE, *, models: Sequence[str] | None = None
) -> StudyReport:
    """Estimate the models of a study from its database, as ``oversight estimate`` does.

    Parameters
    ----------
    study
        Folder of the study, path of its ``study.toml``, or the result of
        `oversight.harness.config.read_study`.
    models
        Names of models; None for all models except judges.

    Raises
    ------
    DataError
        If the file does not exist or is invalid; the message names line and key.
    BadInput
        If there are no answers or no predictions yet, or the study is a panel.

    Examples
    --------
    >>> import oversight as ov
    >>> report = ov.study_report("study.toml")
    >>> {model.name: round(model.accuracy.value, 2) for model in report.models}
    {'careful': 0.77, 'quick': 0.6}
    """
    if models is not None:
        check_names("models", models)
    if not isinstance(study, Study):
        if not isinstance(study, str | os.PathLike):
            raise WrongType("study", "the path of a study.toml or of its folder, or a Study", study)
        path = Path(study)
        study = read_study(path / STUDY_FILE if path.is_dir() else path)
    with Store(study.store_url) as store:
        return report_study(store, study, runs=models)
