"""Write the input files of each study, before any verb is run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

from tests.studies.tables import Truth, read_csv, write_csv

DATA = Path(__file__).parents[2] / "data"
CLASSES = ("cardiology", "neurology", "nephrology", "dermatology")
TRIAGE = ("routine", "soon", "urgent")
PEOPLE = ("rater-a", "rater-b", "rater-c", "rater-d", "rater-e")
PORT = 18431


def notes(folder: Path, n: int, first: int = 0) -> Truth:
    """Write `n` case notes of four specialties, with a ward to stratify by; returns the key."""
    key = {row["id"]: row["label"] for row in read_csv(DATA / "case_notes.key.csv")}
    lines = (DATA / "case_notes.jsonl").read_text(encoding="utf-8").splitlines()
    found = [note for note in map(json.loads, lines) if key[note["id"]] in CLASSES][first : first + n]
    wards = ("day", "night", "day")
    rows = [{"id": x["id"], "text": x["text"], "ward": wards[j % 3]} for j, x in enumerate(found)]
    write_csv(folder / "items.csv", rows)
    return seal(folder, {row["id"]: key[row["id"]] for row in rows})


def questions(folder: Path) -> Truth:
    """Twelve questions each with 3, 4 and 5 options; the key."""
    key = {row["id"]: row["label"] for row in read_csv(DATA / "questions.key.csv")}
    found = list(map(json.loads, (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()))
    rows = [q for k in (3, 4, 5) for q in [q for q in found if len(q["options"]) == k][:12]]
    folder.joinpath("items.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return seal(folder, {row["id"]: key[row["id"]] for row in rows})


def seal(folder: Path, truth: Truth) -> Truth:
    write_csv(folder / "key.csv", [{"id": name, "label": label} for name, label in truth.items()])
    return truth


def options(folder: Path, truth: Truth) -> dict[str, list[str]]:
    items = folder / "items.jsonl"
    if items.exists():
        found = map(json.loads, items.read_text(encoding="utf-8").splitlines())
        return {row["id"]: list(row["options"]) for row in found}
    return {name: sorted(set(truth.values())) for name in truth}


def predict(
    folder: Path, name: str, truth: Truth, accuracy: float, seed: int, fail: float = 0.03, samples: int = 1
) -> None:
    """A model's answers: right at a rate, some unreadable, some failed, with a confidence for each."""
    rng, choices, rows = np.random.default_rng(seed), options(folder, truth), []
    for sample, item in product(range(samples), truth):
        right, fate, sure = rng.random(3)
        wrong = [option for option in choices[item] if option != truth[item]]
        said = truth[item] if right < accuracy else str(rng.choice(wrong))
        confidence = f"{0.5 + 0.5 * sure if right < accuracy else 0.3 + 0.6 * sure:.3f}"
        row = {"id": item, "prediction": said, "raw": f"I would say {said}.", "error": ""}
        if fate < 0.05:
            row |= {"prediction": "", "raw": "I cannot tell from this."}
        elif fate < 0.05 + fail:
            row |= {"prediction": "", "raw": "", "error": "timeout: no answer within 60 s"}
        row |= {"confidence": "" if row["error"] else confidence}
        row |= {"input_tokens": str(90 + int(40 * sure)), "output_tokens": "9"}
        rows.append(row | ({"sample": str(sample)} if samples > 1 else {}))
    write_csv(folder / f"{name}.csv", rows)


def roster(folder: Path, classes: dict[str, str]) -> None:
    entries = (f'[[expert]]\nname = "{name}"\nclasses = ["{what}"]\n' for name, what in classes.items())
    folder.joinpath("experts.toml").write_text("\n".join(entries), encoding="utf-8")


def study(folder: Path, experts: str, rest: str = "", items: str = "") -> None:
    source = items or f'file = "items.csv"\nclasses = {json.dumps(CLASSES)}\nmeta = ["ward"]'
    folder.joinpath("study.toml").write_text(
        f'[study]\nname = "{folder.name}"\nseed = 11\n\n[items]\n{source}\n\n[experts]\n{experts}\n{rest}',
        encoding="utf-8",
    )


def simple_roster(folder: Path) -> None:
    roster(folder, {f"{name}-1": name for name in CLASSES} | {"neurology-2": "neurology"})


PRICES = """\
checked = 2026-01-05

[models.careful]
input = 0.25
output = 2.0

[models.quick]
input = 0.05
output = 0.4
batch = 0.5
"""


def partitioned(folder: Path) -> Truth:
    truth = notes(folder, 54)
    simple_roster(folder)
    folder.joinpath("prices.toml").write_text(PRICES, encoding="utf-8")
    study(folder, 'protocol = "partitioned"')
    predict(folder, "careful", truth, 0.85, 1)
    predict(folder, "quick", truth, 0.55, 2)
    shutil.copy(DATA.parent / "tests" / "datasets" / "logs" / "samples_choices.jsonl", folder)
    rng = np.random.default_rng(3)
    votes = [
        {"item": name, "annotator": who, "label": label if rng.random() < 0.8 else str(rng.choice(CLASSES))}
        for name, label in list(truth.items())[:50]
        for who in PEOPLE
    ]
    write_csv(folder / "votes.csv", votes)
    return truth


def mixed(folder: Path) -> Truth:
    truth = questions(folder)
    roster(folder, {"generalist-1": "*", "generalist-2": "*"})
    items = 'file = "items.jsonl"\nmeta = ["subject"]'
    study(folder, "options_per_item = 2", '\n[estimate]\nlevel = 0.9\ninterval = "score"\n', items)
    for seed, (name, accuracy) in enumerate({"large": 0.9, "medium": 0.7, "small": 0.45}.items()):
        predict(folder, name, truth, accuracy, seed, samples=3 if name == "medium" else 1)
    return truth


def routed(protocol: str, models: dict[str, float], n: int, more: str = "") -> Callable[[Path], Truth]:
    def lay_out(folder: Path) -> Truth:
        truth = notes(folder, n, first=20)
        simple_roster(folder)
        study(folder, f'protocol = "{protocol}"\n{more}')
        for seed, (name, accuracy) in enumerate(models.items(), start=7):
            predict(folder, name, truth, accuracy, seed, fail=0.0)
        return truth

    return lay_out


def panel(protocol: str) -> Callable[[Path], Truth]:
    def lay_out(folder: Path) -> Truth:
        notes(folder, 32, first=40)
        rng = np.random.default_rng(9)
        names = [row["id"] for row in read_csv(folder / "items.csv")]
        truth = seal(folder, {name: str(rng.choice(TRIAGE, p=(0.4, 0.35, 0.25))) for name in names})
        roster(folder, dict.fromkeys(PEOPLE, "*"))
        items = f'file = "items.csv"\nclasses = {json.dumps(TRIAGE)}\nmeta = ["ward"]'
        study(folder, f'protocol = "{protocol}"\nannotators_per_item = 3', items=items)
        predict(folder, "model", truth, 0.9, 12, fail=0.0)
        chosen = [{"item": row["id"], "label": row["prediction"]} for row in read_csv(folder / "model.csv")]
        write_csv(folder / "predictions.csv", chosen)
        oracle = [{"item": name, "label": truth[name]} for name in names[:20]]
        write_csv(folder / "oracle.csv", oracle)
        return truth

    return lay_out


MODEL = '''\
"""A model of this study that needs no network: its answer depends only on the prompt and the key."""

from __future__ import annotations

import csv
import json
import re
import zlib
from pathlib import Path

HERE = Path(__file__).parent
IN_FIELDS = True


def answer(prompt: str) -> str:
    """Name an option: right for most notes, and for more of them where the prompt is a longer one."""
    with (HERE / "items.csv").open(encoding="utf-8", newline="") as stream:
        texts = {row["id"]: row["text"] for row in csv.DictReader(stream)}
    with (HERE / "key.csv").open(encoding="utf-8", newline="") as stream:
        key = {row["id"]: row["label"] for row in csv.DictReader(stream)}
    item = max(texts, key=lambda name: prompt.rfind(texts[name]))
    draw = zlib.crc32(f"{item} {len(prompt) // 50}".encode()) % 100
    classes = sorted(set(key.values()))
    right = draw < min(90, 30 + len(prompt) // 50)
    said = key[item] if right else classes[(classes.index(key[item]) + 1) % len(classes)]
    if draw % 11 == 0:
        return "I would rather not say."
    letter = [*re.findall(rf"\\((\\w)\\) {said}", prompt), "A"][0]
    fields = {"thinking": "It fits.", "feedback": "None.", "correct": "True", "answer": letter}
    return json.dumps(fields) if IN_FIELDS else said
'''


def half(folder: Path) -> Truth:
    truth = notes(folder, 30, first=60)
    simple_roster(folder)
    folder.joinpath("half_model.py").write_text(MODEL.replace("True", "False", 1), encoding="utf-8")
    folder.joinpath("prices.toml").write_text(PRICES, encoding="utf-8")
    study(
        folder,
        'protocol = "partitioned"',
        f'\n[endpoints.loop]\nurl = "http://127.0.0.1:{PORT}/v1"\nconcurrency = 1\ntries = 1\n'
        '\n[models.done]\nendpoint = "loop"\nmodel = "careful"\ntemperature = 0.0\nmax_tokens = 12\n'
        '\n[models.stopped]\nendpoint = "loop"\nmodel = "quick"\nmax_tokens = 12\n'
        '\n[models.spoken]\npython = "half_model:answer"\nmodel = "spoken"\nconcurrency = 1\ntries = 1\n',
    )
    return truth


def desk(folder: Path) -> Truth:
    truth = notes(folder, 24, first=30)
    simple_roster(folder)
    study(folder, 'protocol = "partitioned"')
    predict(folder, "model", truth, 0.7, 21)
    return truth


def search(folder: Path) -> Truth:
    truth = notes(folder, 32, first=80)
    simple_roster(folder)
    folder.joinpath("search_model.py").write_text(MODEL, encoding="utf-8")
    settings = (
        '\n[search]\nmodel = "{model}"\nstart = "cot"\nlibrary = ["cot", "self-refine"]\n'
        "candidates = 6\nin_flight = 2\nrungs = [6, 11]\nkeep = [0.5]\n"
    )
    models = (
        f'\n[models.asked]\nendpoint = "http://127.0.0.1:{PORT}/v1"\nmodel = "asked"\nconcurrency = 1\n'
        "tries = 1\n"
        '\n[models.spoken]\npython = "search_model:answer"\nmodel = "spoken"\nconcurrency = 1\ntries = 1\n'
    )
    for name in ("spoken", "asked"):
        study(folder, "options_per_item = 2", models + settings.format(model=name))
        if name == "spoken":
            folder.joinpath("study.toml").rename(folder / "spoken.toml")
    return truth


LAID_OUT: dict[str, Callable[[Path], Truth]] = {
    "partitioned": partitioned,
    "mixed": mixed,
    "targeted": routed("targeted", {"good": 0.85, "fair": 0.6}, 48, "epsilon = 0.2"),
    "sequential": routed("sequential", {"good": 0.85, "fair": 0.6, "poor": 0.4}, 40),
    "disagreement": routed("disagreement", {"good": 0.85, "fair": 0.5}, 48),
    "panel": panel("panel"),
    "panel-random": panel("panel-random"),
    "half": half,
    "desk": desk,
    "search": search,
}
