"""The real small model over the titles of all 2,888 medical abstracts, killed in the middle and resumed.

The command is the ordinary ``oversight run`` in a study of its own; the study is kept with ``--folder``.

    python benchmarks/titles.py [--quick] [--folder DIR]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from oversight import harness as h
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.harness.store import Store

FOLDER = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
EXAMPLES = (
    ("Survival after resection of hepatic metastases from colorectal carcinoma.", "neoplasms"),
    ("Eradication of Helicobacter pylori and healing of duodenal ulcers.", "digestive system diseases"),
    ("Outcome of status epilepticus in adults.", "nervous system diseases"),
    ("Thrombolysis within six hours of acute myocardial infarction.", "cardiovascular diseases"),
    ("Wound infection and length of stay after elective surgery.", "general pathological conditions"),
)
STUDY = """\
[study]
name = "Titles"
[items]
file = "titles.csv"
classes = {classes}
[prompt]
template = "prompt.txt"
max_words = 25
[models.small]
endpoint = "local"
model = "smollm2-135m-instruct"
temperature = 0.0
max_tokens = 12
concurrency = {concurrency}
extra = {{grammar = '{grammar}'}}
"""
CONCURRENCY = 2
COMMAND = [sys.executable, "-m", "oversight.harness.cli.main", "run", "--json"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="the first 40 titles, under 50 s")
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    path = FOLDER / "medical_abstracts_test.csv.gz"
    if not path.exists():
        sys.exit(f"{path} is not there; set OVERSIGHT_DATASETS")
    items, truth = h.read_preset("medical-abstracts", path, seed=7)
    items = items[: 40 if args.quick else None]
    running = find_local_model()
    if running is None:
        start_local_model()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = args.folder or Path(scratch)
            lay_out(folder, items)
            report(folder, items, truth, killed_and_resumed(folder, len(items)))
    finally:
        if running is None:
            stop_local_model()


def lay_out(folder: Path, items: list[h.Item]) -> None:
    """Write an ordinary study; a title is an abstract's first sentence."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "titles.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "text"])
        writer.writerows([item.id, item.text.split(". ", 1)[0].strip() + "."] for item in items)
    shots = "".join(f"{title}\nTopic: {topic}\n\n" for title, topic in EXAMPLES)
    (folder / "prompt.txt").write_text(f"{shots}$text\nTopic:", encoding="utf-8")
    classes = json.dumps(list(items[0].options))
    # The server is held to the classes; without that, so small a model writes what it likes.
    grammar = "root ::= " + " | ".join(f'" {option}"' for option in items[0].options)
    text = STUDY.format(classes=classes, concurrency=CONCURRENCY, grammar=grammar)
    (folder / "study.toml").write_text(text, encoding="utf-8")


def stored(folder: Path) -> int:
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        return store.count_rows()["prediction"]


def killed_and_resumed(folder: Path, n: int) -> dict[str, Any]:
    """Run, kill -9 when half of the answers are stored, and run again."""
    begun = time.perf_counter()
    process = subprocess.Popen(COMMAND, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603  a fixed command
    while process.poll() is None and stored(folder) < n / 2:
        time.sleep(1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = stored(folder)
    done = subprocess.run(COMMAND, cwd=folder, capture_output=True, check=False)  # noqa: S603  the same
    result: dict[str, Any] = json.loads(done.stdout)["models"]["small"]
    again = subprocess.run(COMMAND, cwd=folder, capture_output=True, check=False)  # noqa: S603  the same
    finished = json.loads(again.stdout)["models"]["small"]["asked_now"]
    seconds = time.perf_counter() - begun
    return {**result, "kept_at_kill": kept, "asked_when_finished": finished, "seconds": seconds}


def report(folder: Path, items: list[h.Item], truth: dict[str, int], result: dict[str, Any]) -> None:
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        predictions = store.runs.read_predictions(result["run"])
    right = sum(p.option == truth[p.item_id] for p in predictions)
    print(f"{result['predictions']} of {len(items)} titles in {result['seconds']:.0f} s; killed at", end=" ")
    print(f"{result['kept_at_kill']}, then asked {result['asked_now']}, then {result['asked_when_finished']}")
    print(f"{result['ok']} readable, kinds: {result['kinds']}; right: {right / len(predictions):.1%}")
    keys = ("predictions", "ok", "unreadable", "failed", "kept_at_kill", "asked_now", "asked_when_finished")
    line = {key: result[key] for key in keys}
    print(json.dumps({**line, "seconds": round(result["seconds"]), "accuracy": right / len(predictions)}))


if __name__ == "__main__":
    main()
