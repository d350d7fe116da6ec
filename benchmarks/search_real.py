"""A real search with the real small model: titles of medical abstracts, experts, a sealed truth.

Each seed runs the starting workflow (one call without examples), the offline proposer, fitness from
simulated experts' yes and no only, confirmation on new items, and one test. Only then is the key opened,
and the winner's accuracy on the test items is compared with the start's. All seeds share one database, so
that no call is made twice; after a kill it continues. The last line is JSON.

    python benchmarks/search_real.py [--quick] [--seeds 3] [--folder DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from oversight import harness as h
from oversight.harness.cli.main import main as oversight
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.harness.report import SearchReport

FOLDER = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
ITEMS, QUICK_ITEMS = 600, 240
STUDY = """\
[study]
name = "Search on titles of medical abstracts"
seed = 7

[items]
file = "titles.jsonl"
classes = {classes}
shuffle = false

[experts]
options_per_item = 3

[models.small]
endpoint = "local"
model = "smollm2-135m-instruct"
concurrency = 3
timeout = 600

[search]
start = {start}
library = [{start}]
candidates = {candidates}
in_flight = 4
rungs = {rungs}
keep = [0.5]
finalists = 3
examples = 8
split = {{feedback = {feedback}, select = {select}, confirm = {confirm}, test = {test}}}
"""
WORKFLOW = """\
style = "lines"                # a model this small completes lines; it follows no format
answer = "option"
max_tokens = 12
max_words = 20

[labels]
options = "Topics:"
question = "Title:"
thinking = "Thought:"
answer = "Topic:"
"""
START = '''\
"""The answer at once, and no solved examples: what one would write first."""

TEMPERATURE = 0.5
EXAMPLES = 0
INSTRUCTION = "Answer at once."


async def forward(task):
    (answer,) = await task.ask(["answer"], [task], INSTRUCTION, temperature=TEMPERATURE, examples=EXAMPLES)
    return answer
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="one seed, two proposals, few items")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the study here, and go on with it")
    args = parser.parse_args()
    if not (FOLDER / "medical_abstracts_test.csv.gz").exists():
        sys.exit(f"{FOLDER / 'medical_abstracts_test.csv.gz'} is not there; set OVERSIGHT_DATASETS")
    running = find_local_model()
    start_local_model() if running is None else None
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = args.folder or Path(scratch)
            lay_out(folder, quick=args.quick)
            results = [one(folder, seed) for seed in range(1 if args.quick else args.seeds)]
    finally:
        if running is None:
            stop_local_model()
    print(json.dumps(summary(results)))


def lay_out(folder: Path, *, quick: bool) -> None:
    """Write the study, route the questions and answer them."""
    folder.mkdir(parents=True, exist_ok=True)
    items, truth = h.read_preset("medical-abstracts", FOLDER / "medical_abstracts_test.csv.gz", seed=7)
    items = items[: QUICK_ITEMS if quick else ITEMS]
    classes = items[0].options
    sizes: dict[str, Any] = {"feedback": 0.1, "candidates": 8, "rungs": [30, 210], "select": 0.35}
    sizes |= {"confirm": 0.15, "test": 0.4}
    if quick:
        sizes = {"feedback": 0.2, "candidates": 2, "rungs": [5, 10], "select": 0.045, "confirm": 0.0}
        sizes["test"] = 0.05
    start = json.dumps(str(folder.resolve() / "start.py"))
    rows = [json.dumps({"id": item.id, "text": title(item)}) for item in items]
    files = {
        "study.toml": STUDY.format(**sizes, start=start, classes=json.dumps(classes)),
        "workflow.toml": WORKFLOW,
        "start.py": START,
        "titles.jsonl": "\n".join(rows) + "\n",
        "key.csv": "".join(["id,label\n", *(f"{item.id},{classes[truth[item.id]]}\n" for item in items)]),
        "experts.toml": "".join(
            f"[[expert]]\nname = {json.dumps(c)}\nclasses = [{json.dumps(c)}]\n" for c in classes
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    call(folder, "label", "route")
    call(folder, "label", "simulate", "--key", str(folder / "key.csv"))


def title(item: h.Item) -> str:
    """An abstract's first sentence."""
    return item.text.split(". ")[0].strip() + "."


def one(folder: Path, seed: int) -> dict[str, Any]:
    """Search with one seed, then open the key."""
    from oversight.agents.search import prepare_search, report_search
    from oversight.harness.analysis import study_truth
    from oversight.harness.config import read_study
    from oversight.harness.store import Store

    started = time.perf_counter()
    call(folder, "search", "start", "--set", f"study.seed={seed}")
    call(folder, "search", "show", "--page", str(folder / f"search-{seed}.html"))
    study = read_study(folder / "study.toml")
    with Store(study.store_url) as store:
        truth = study_truth(study, str(folder / "key.csv"), store.content.read_items())
        prepared = prepare_search(study, store, seed, study.search)
        report = report_search(study, store, prepared, truth)
        test = prepared.archive.splits["test"]
        pair = (prepared.programs[0].id, report.winner.id if report.winner else "")
        right = [
            {p.item_id: p.option == truth[p.item_id] for p in prepared.archive.predictions(c, test)}
            for c in pair
        ]
    show(seed, report, time.perf_counter() - started)
    assert report.winner is not None  # otherwise it would not have been shown
    told = {"reported": report.winner.reported, "sd": report.winner.sd}
    return {"start": right[0], "winner": right[1], **told}


def show(seed: int, report: SearchReport, seconds: float) -> None:
    w = report.winner
    if w is None or w.truth is None or w.start_truth is None:
        sys.exit(f"seed {seed}: no winner")
    note = report.by_id(w.id).note
    print(
        f"seed {seed}: start {100 * w.start_truth:.1f} %, winner {100 * w.truth:.1f} % (sealed); reported "
        f"{100 * w.reported:.1f} ± {100 * w.sd:.1f}, uncorrected {100 * w.naive:.1f}; "
        f"{report.proposals} proposals, {seconds / 60:.0f} min; winner: {note or 'the start'}"
    )


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Sealed accuracies over all seeds; items are the units, since seeds test some alike."""
    names = [name for r in results for name in r["start"]]
    start, winner = (
        np.array([v for r in results for v in r[c].values()], float) for c in ("start", "winner")
    )
    gap, half = float((winner - start).mean()), 1.96 * standard_error(names, winner - start)
    low, high = gap - half, gap + half
    over = float(np.mean([r["reported"] for r in results]) - winner.mean())
    told = float(np.sqrt(sum(r["sd"] ** 2 for r in results))) / len(results)
    se = float(np.hypot(told, standard_error(names, winner)))
    print(
        f"all seeds: start {100 * start.mean():.1f} %, winner {100 * winner.mean():.1f} %, difference "
        f"{100 * gap:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]; reported minus sealed "
        f"{100 * over:+.1f} ± {100 * se:.1f}"
    )
    return {
        "seeds": len(results),
        "answers": len(names),
        "items": len(set(names)),
        "start": round(float(start.mean()), 4),
        "winner": round(float(winner.mean()), 4),
        "difference": round(gap, 4),
        "interval": [round(low, 4), round(high, 4)],
        "reported_minus_sealed": [round(over, 4), round(se, 4)],
    }


def standard_error(names: list[str], values: h.FloatArray) -> float:
    """Standard error of the mean of values, where those of the same item are dependent."""
    by_item: dict[str, float] = defaultdict(float)
    for name, value in zip(names, values - values.mean(), strict=True):
        by_item[name] += value
    return float(np.sqrt(sum(v**2 for v in by_item.values()))) / len(values)


def call(folder: Path, *words: str) -> None:
    """Run a command of the project on the study, quietly."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = oversight([*words, "--study", str(folder / "study.toml"), "--json"])
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
