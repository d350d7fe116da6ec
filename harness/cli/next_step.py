"""The next step in a study's folder: printed by the command without a verb."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oversight.harness.output import counted

if TYPE_CHECKING:
    from oversight.harness.config import Study


def suggest_next(study_file: str) -> str:
    """Return the study's progress and the next command; empty without a study in this folder.

    Raises
    ------
    ConfigError
        If the study file cannot be read.
    """
    if not Path(study_file).is_file():
        return ""
    from oversight.harness.config import read_study

    study = read_study(study_file)
    return f"{study.study.name}: {_find_step(study)}\n\nAll verbs:  oversight --help\n"


def _find_step(study: Study) -> str:
    from oversight.harness.store import Store, has_database

    panel = study.experts.is_panel
    if study.is_open and not has_database(study.store_url):
        return "no model was run yet.\nNext: ask the models (oversight run), then oversight label route."
    if not has_database(study.store_url):
        return (
            "no question is drawn yet.\n"
            "Next: check the items (oversight items check), then draw (oversight label route)."
        )
    with Store(study.store_url) as store:
        asked = sum(store.count_asked(panel=panel).values())
        answered = sum(store.replies(panel=panel).count_replies().values())
        runs = store.count_rows("run")["run"]
    if not asked:
        return "no question is drawn yet.\nNext: draw them (oversight label route)."
    told = f"{answered} of {counted(asked, 'question')} answered, {counted(runs, 'run')} of models"
    if not runs:
        step = "ask the models (oversight run)"
    elif answered < asked:
        number = "score" if study.is_open else "accuracy"
        look = (
            "agreement so far: oversight panel agree" if panel else f"the {number} so far: oversight estimate"
        )
        step = f"have the rest answered (oversight label status shows who is missing); {look}"
    elif panel:
        step = "oversight panel agree, then oversight panel certify and oversight panel parity"
    elif study.is_open:
        step = "oversight label route (questions may follow), then oversight estimate"
    else:
        step = "oversight estimate, then oversight compare or oversight view"
    return f"{told}.\nNext: {step}."
