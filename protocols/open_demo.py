"""Run the demo on open answers: a local model, bundled answers of three models, simulated experts."""

from __future__ import annotations

import csv
import re
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from oversight.harness import BadInput, OversightError
from oversight.harness.analysis import Asking, import_predictions, run_study
from oversight.harness.config import STUDY_FILE, Study, read_study
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.harness.open_answers import (
    Frame,
    JudgedStudy,
    make_frame,
    read_frame,
    read_judged,
    read_unit_key,
)
from oversight.harness.store import Store
from oversight.harness.types import Verdict
from oversight.protocols.demo_study import DATA
from oversight.protocols.open_answers import route_units, simulate_units

LOCAL = "smollm2"
BUNDLED = ("amber", "birch", "cedar")
QUESTIONS = 320
_START = "open_answers"
_STUDY = """\
[study]
name = "Open answers"
seed = 7

[items]
file = "items.jsonl"
answers = "open"
{limit}
[models.smollm2]
endpoint = "local"
model = "smollm2-135m-instruct"
temperature = 0.0
max_tokens = 80
concurrency = 2
"""
_LONG_WORD = re.compile(r"[a-z]{5,}")
_ENOUGH = 0.6
"""Share of a criterion's long words that an answer must contain for a simulated expert to say yes."""


def run_open_demo(
    folder: Path, limit: int | None = None, *, tell: Callable[[str], None] = print
) -> tuple[Study, JudgedStudy, dict[str, float]]:
    """Run the demo, or continue an interrupted one.

    Returns the study, the judgements, and each model's true score.

    Parameters
    ----------
    folder
        Folder of the study.
    limit
        Number of bundled questions to use, in file order; None for all.
    tell
        Called with a description of each step.
    """
    study = _lay_out(folder, limit)
    tell("1/4  the small model on this machine")
    running = find_local_model()
    server = running or start_local_model()
    try:
        tell(f"2/4  {server.model} answers every question ({server.url}); three bundled models have answered")
        result = run_study(study, Asking())[LOCAL]
        if "stopped" in result:
            raise OversightError(result["stopped"])
    finally:
        if running is None:
            stop_local_model()
    for model in BUNDLED:
        import_predictions(study, str(_write_answers(study, folder, model)), model)
    tell("3/4  units of the answers to four experts, each of one field")
    with Store(study.store_url) as store:
        is_drawn = bool(store.open_answers.read_draw())
        frame = read_frame(store) if is_drawn else make_frame(study, store)
    route_units(study, None if is_drawn else QUESTIONS)
    key = _write_key(frame, folder / "key.csv")
    simulate_units(study, str(key), abstention=0.03)
    tell("4/4  scores from what the experts said; then the key is opened")
    with Store(study.store_url) as store:
        return study, read_judged(study, store), score_by_key(frame, str(key))


def _lay_out(folder: Path, limit: int | None) -> Study:
    """Create an ordinary study of open answers, as a user would."""
    if not (DATA / f"{_START}.jsonl").exists():
        raise BadInput(
            f"the bundled data are not in {DATA}: install the package again, or use a complete clone"
        )
    if folder.exists() and not (folder / "items.jsonl").exists() and any(folder.iterdir()):
        raise BadInput(f"{folder} contains other files; give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(DATA / f"{_START}.jsonl", folder / "items.jsonl")
    shutil.copyfile(DATA / f"{_START}.experts.toml", folder / "experts.toml")
    limited = "" if limit is None else f"limit = {limit}\n"
    (folder / STUDY_FILE).write_text(_STUDY.format(limit=limited), encoding="utf-8")
    return read_study(folder / STUDY_FILE)


def _write_answers(study: Study, folder: Path, model: str) -> Path:
    """Write a file with the bundled answers of a model to the items of the study."""
    lines = (DATA / f"{_START}.{model}.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    most, path = study.items.limit, folder / f"{model}.csv"
    path.write_text("".join(lines if most is None else lines[: most + 1]), encoding="utf-8")
    return path


def _write_key(frame: Frame, path: Path) -> Path:
    """Write an answer key: the bundled models' key, and simulated verdicts on the local model's answers."""
    texts = {a.item_id: a.text.lower() for a in frame.answers if a.model == LOCAL}
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write((DATA / f"{_START}.key.csv").read_text(encoding="utf-8"))
        rows = csv.writer(stream, lineterminator="\n")
        for unit in frame.units:
            words = set(_LONG_WORD.findall(unit.text.lower()))
            held = sum(word in texts.get(unit.item_id, "") for word in words)
            label = Verdict.YES if words and held >= _ENOUGH * len(words) else Verdict.NO
            rows.writerow((unit.item_id, LOCAL, unit.text, label.value))
    return path


def score_by_key(frame: Frame, key: str) -> dict[str, float]:
    """Return the score, clipped to [0, 1], that each model gets if all units are judged as in the key."""
    truth = read_unit_key(key)
    best, scores = defaultdict[str, float](float), defaultdict[str, float](float)
    for unit in frame.units:
        best[unit.item_id] += max(0.0, unit.points)
    for answer in frame.answers:
        own = [unit for unit in frame.units if unit.item_id == answer.item_id]
        met = (u.points for u in own if truth[answer.item_id, answer.model, u.text][0] == Verdict.YES.value)
        scores[answer.model] += sum(met) / best[answer.item_id]
    return {model: min(1.0, max(0.0, score / len(best))) for model, score in scores.items()}
