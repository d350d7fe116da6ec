"""The demo: create a study on bundled case notes, ask, answer, estimate and report."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from oversight.harness import BadInput, OversightError
from oversight.harness.analysis import Asking, StudyReport, report_study, run_study, study_items, study_truth
from oversight.harness.config import STUDY_FILE, Study, read_study
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.harness.store import Store
from oversight.harness.view import write_page
from oversight.protocols.study_labels import route_questions, simulate_answers

_INSTALLED = Path(__file__).with_name("case_notes")
DATA = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).resolve().parents[1] / "data"
"""Folder of the case notes: part of an installed package, or at the root of a clone."""
MODEL = "smollm2"
ABSTENTION = 0.03
_FILES = {
    "case_notes.jsonl": "notes.jsonl",
    "case_notes.experts.toml": "experts.toml",
    "case_notes.prompt.txt": "prompt.txt",
}
_STUDY = """\
[study]
name = "Case notes"
seed = 7

[items]
file = "notes.jsonl"
classes = ["cardiology", "neurology", "gastroenterology", "pulmonology",
           "nephrology", "endocrinology", "dermatology", "rheumatology"]

[prompt]
template = "prompt.txt"

[models.smollm2]
endpoint = "local"
model = "smollm2-135m-instruct"
temperature = 0.0
max_tokens = 8
extra = {stop = ["\\n"]}
concurrency = 2
"""


def run_demo(
    folder: Path, limit: int | None = None, *, tell: Callable[[str], None] = print
) -> tuple[StudyReport, Path]:
    """Run the demo, or continue an interrupted one. Returns the report and its page.

    Parameters
    ----------
    folder
        Folder of the study.
    limit
        Number of bundled notes to use, in file order; None for all.
    tell
        Called with a description of each step.
    """
    _check_demo(folder)
    tell("1/4  the small model on this machine")
    running = find_local_model()
    server = running or start_local_model()
    try:
        study, key = lay_out_demo(folder, limit), str(DATA / "case_notes.key.csv")
        items = study_items(study)
        tell(f"2/4  {len(items)} notes to eight experts, one question each")
        route_questions(study)
        simulate_answers(study, key, abstention=ABSTENTION)
        tell(f"3/4  {server.model} reads every note ({server.url})")
        result = run_study(study, Asking())[MODEL]
        if "stopped" in result:
            raise OversightError(result["stopped"])
        asked = result["asked_now"]
        if asked < len(items):
            tell(f"     {len(items) - asked} answers were already stored (delete the folder to start again)")
        tell("4/4  accuracy from the experts' yes and no; then the sealed key is opened")
        with Store(study.store_url) as store:
            report = report_study(store, study, truth=study_truth(study, key, items))
            page = write_page(study, store, report, folder / "report.html")
    finally:
        if running is None:
            stop_local_model()
    return report, page


def _check_demo(folder: Path) -> None:
    if not (DATA / "case_notes.jsonl").exists():
        raise BadInput(
            f"the bundled data are not in {DATA}: install the package again, or use a complete clone"
        )
    if folder.exists() and not (folder / "notes.jsonl").exists() and any(folder.iterdir()):
        raise BadInput(f"{folder} contains other files; name another folder")


def lay_out_demo(folder: Path, limit: int | None) -> Study:
    """Create an ordinary study, as a user would."""
    _check_demo(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for source, target in _FILES.items():
        shutil.copyfile(DATA / source, folder / target)
    text = _STUDY if limit is None else _STUDY.replace("[prompt]", f"limit = {limit}\n\n[prompt]")
    (folder / STUDY_FILE).write_text(text, encoding="utf-8")
    return read_study(folder / STUDY_FILE)
