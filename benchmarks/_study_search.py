"""Search by the published scores and by ours: twenty models, scripted models, a local model.

The local model answers titles of medical abstracts, the third benchmark of the paper's searches. On
MMLU-Pro so small a model is no better than chance, so there is nothing to find.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._field_ours import lay_out
from benchmarks._field_solver import SOLVER
from benchmarks._field_task import FieldTask
from benchmarks._real_predictions import predictions
from benchmarks._study_folders import Published, call
from benchmarks.search_real import START, WORKFLOW, title
from oversight import harness as h
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, Targeted, one_expert_per_class

K = 10
VALIDATION = 120
"""Items of a validation set, App. G."""
TITLES = 160
STUDY = """\
[study]
name = "Search on titles of medical abstracts"
seed = 7

[items]
file = "titles.jsonl"
classes = {classes}
shuffle = false

[models.small]
endpoint = "local"
model = "smollm2-135m-instruct"
concurrency = 3
timeout = 600

[search]
start = {start}
library = [{start}]
labels = "{labels}"
candidates = 8
rungs = [56]
split = {{feedback = 0.15, select = 0.35, test = 0.5}}
"""
RULES: Mapping[str, Mapping[str, Any]] = {
    "raw q, as published": {"labels": "drawn", "parity": "raw"},
    "transformed, as published": {"labels": "drawn", "parity": "transformed"},
    "ours, no-answers alone": {"labels": "drawn"},
    "ours, yes and no": {"labels": "all"},
}
Key = dict[str, int]


def pick_models(data: Published, draws: int) -> dict[str, dict[str, float]]:
    """Pick the best of the twenty models with 120 questions: its true and its printed accuracy."""
    seen: dict[str, list[tuple[float, float]]] = {}
    exact = data.accuracies
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        chosen = [data.items[j] for j in rng.choice(len(data.items), VALIDATION, replace=False)]
        for rule, scores in _scores(data, chosen, rng, seed).items():
            best = max(scores, key=lambda model: scores[model])
            seen.setdefault(rule, []).append((exact[best], scores[best]))
    return {
        rule: {"true": _mean([t for t, _ in pairs]), "printed": _mean([p for _, p in pairs]), "draws": draws}
        for rule, pairs in seen.items()
    }


def _scores(
    data: Published, items: list[h.Item], rng: np.random.Generator, seed: int
) -> dict[str, dict[str, float]]:
    """Return every model's score under each rule, from as many questions as there are items."""
    answers = {m: {i.id: options[i.id] for i in items} for m, options in data.answers.items()}
    models = {m: predictions(items, options) for m, options in answers.items()}
    wrong = [(data.key[i.id] + int(rng.integers(1, K))) % K for i in items]
    experts = SimulatedExperts(data.key)
    answered: dict[str, h.Labels] = {}
    # an expert per position of an option, because options of different items are different classes
    for name, plan in (
        ("uniform", Partitioned(_EVERYBODY, seed)),
        ("targeted", Targeted(_EVERYBODY, answers, seed)),
    ):
        questions = plan.route(items)
        answered[name] = h.decode(experts.answer(questions), questions)
    avoided = {
        m: float(np.mean([o is not None and o != k for o, k in zip(options.values(), wrong, strict=True)]))
        for m, options in answers.items()
    }
    return {
        "raw q on no-answers": avoided,
        "transformed": {m: (K - 1) * q - (K - 2) for m, q in avoided.items()},
        "ML, yes and no": _estimates(models, answered["uniform"], "ml"),
        "targeted for all twenty": _estimates(models, answered["targeted"], "routed"),
    }


def _estimates(models: Mapping[str, list[h.Prediction]], labels: h.Labels, name: str) -> dict[str, float]:
    if name != "ml":
        return {m: h.accuracies(rows, labels)[name].value for m, rows in models.items()}
    # the faster interval; the estimate is the same
    return {m: h.accuracies(rows, labels, interval="score")[name].value for m, rows in models.items()}


def search_scripted(runs: int) -> dict[str, dict[str, Any]]:
    """Run whole searches through the verbs, from an accuracy of .44, with scripted models."""
    found: dict[str, dict[str, Any]] = {}
    for rule, settings in RULES.items():
        winners, calls = list[dict[str, Any]](), list[float]()
        for seed in range(runs):
            task = SOLVER.tasks[seed] = FieldTask(K, 343, seed)
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch)
                lay_out(folder, task, "natural" if settings["labels"] == "all" else "drawn", 0.44)
                before = SOLVER.calls(seed)
                winners.append(_search(folder, seed, settings.get("parity")))
                calls.append(SOLVER.calls(seed) - before)
        found[rule] = {
            "true": _mean([w["truth"] for w in winners]),
            "true_se": _se([w["truth"] for w in winners]),
            "printed": _mean([w["printed"] for w in winners]),
            "off_se": _se([w["printed"] - w["truth"] for w in winners]),
            "calls": _mean(calls),
            "searches": runs,
        }
    return found


def search_local(folder: Path, data: Path) -> dict[str, Any]:
    """Run the same rules with the real small model on titles of medical abstracts; one search each.

    All belong to one study, so that no call is made twice.
    """
    running = find_local_model()
    start_local_model() if running is None else None
    found: dict[str, Any] = {}
    try:
        for rule, settings in RULES.items():
            _lay_out_titles(folder, data, str(settings["labels"]))
            winner = _search(folder, 0, settings.get("parity"))
            found[rule] = {name: winner[name] for name in ("truth", "start_truth", "printed", "low", "high")}
            print(f"{rule}: {found[rule]}", file=sys.stderr, flush=True)
    finally:
        if running is None:
            stop_local_model()
    return found


def _lay_out_titles(folder: Path, data: Path, labels: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    items, truth = h.read_preset("medical-abstracts", data / "medical_abstracts_test.csv.gz", seed=7)
    classes, chosen = items[0].options, items[:TITLES]
    named = (json.dumps(c, ensure_ascii=False) for c in classes)
    files = {
        "study.toml": STUDY.format(
            classes=json.dumps(classes), start=json.dumps(str(folder.resolve() / "start.py")), labels=labels
        ),
        "workflow.toml": WORKFLOW,
        "start.py": START,
        "titles.jsonl": "".join(f"{json.dumps({'id': i.id, 'text': title(i)})}\n" for i in chosen),
        "key.csv": "".join(["id,label\n", *(f"{i.id},{classes[truth[i.id]]}\n" for i in chosen)]),
        "experts.toml": "".join(f"[[expert]]\nname = {name}\nclasses = [{name}]\n" for name in named),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _search(folder: Path, seed: int, parity: str | None) -> dict[str, Any]:
    """Draw and answer questions, search, open the key; return the winner's true and printed accuracy.

    The published accuracy is the score by which it was picked, without an interval.
    """
    call(folder, "label", "route")
    call(folder, "label", "simulate", "--key", str(folder / "key.csv"))
    if parity:
        study = folder / "study.toml"
        text = study.read_text(encoding="utf-8")
        study.write_text(text.replace("[search]", f'[search]\nparity = "{parity}"'), encoding="utf-8")
    begun = call(folder, "search", "start", "--set", f"study.seed={seed}")["search"]["id"]
    shown = call(folder, "search", "show", begun, "--open-key", str(folder / "key.csv"))
    winner: dict[str, Any] = shown["search"]["winner"]
    if parity:
        return winner | {"printed": winner["naive"], "low": None, "high": None}
    return winner | {"printed": winner["reported"]}


def _mean(values: list[float]) -> float:
    return round(float(np.mean(values)), 4)


def _se(values: list[float]) -> float | None:
    """The mean's standard error; None for one value."""
    return round(float(np.std(values, ddof=1)) / len(values) ** 0.5, 4) if len(values) > 1 else None


_EVERYBODY = one_expert_per_class(("*",))
