"""The whole chain on real medical abstracts with the real small local model; truth beside the estimates.

Every abstract of the Medical Abstracts test set goes to one of five simulated specialists; the
small model sorts the same abstracts. The study is kept, so that an interrupted run goes on.

    python benchmarks/medical_abstracts.py [--quick] [--items 600] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from oversight import harness as h
from oversight.harness.analysis import true_accuracy
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, one_expert_per_class

FOLDER = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
SEED = 7
WORDS = 30
SENTENCE = "This abstract is about"
EXAMPLES = (
    ("Survival after resection of hepatic metastases from colorectal carcinoma.", "neoplasms"),
    ("Eradication of Helicobacter pylori and healing of duodenal ulcers.", "digestive system diseases"),
    ("Outcome of status epilepticus in adults.", "nervous system diseases"),
    ("Thrombolysis within six hours of acute myocardial infarction.", "cardiovascular diseases"),
    ("Wound infection and length of stay after elective surgery.", "general pathological conditions"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="40 abstracts, under 50 s")
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    path = FOLDER / "medical_abstracts_test.csv.gz"
    if not path.exists():
        sys.exit(f"{path} is not there; set OVERSIGHT_DATASETS")
    everything, truth = h.read_preset("medical-abstracts", path, seed=SEED)
    items = everything[: 40 if args.quick else args.items]
    plan = Partitioned(one_expert_per_class(items[0].options), seed=SEED)
    labels = plan.decode(SimulatedExperts(truth, abstention=0.03, seed=SEED).answer(plan.route(items)))
    running = find_local_model()
    server = running or start_local_model()
    started = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            predictions = h.run(
                server.model,
                [shortened(item) for item in items],
                store=str((args.folder or Path(scratch)) / "medical.db"),
                template=template(items[0].options),
                endpoint="local",
                temperature=0.0,
                max_tokens=8,
                stop=["\n", "."],
                concurrency=2,
            )
    finally:
        if running is None:
            stop_local_model()
    seconds = time.perf_counter() - started
    A = true_accuracy(predictions, truth)
    assert A is not None, "every call failed"
    print(f"{len(items)} abstracts, K = 5, {len(labels)} answers; true accuracy {A:.1%}; {seconds:.0f} s")
    estimates = h.accuracies(predictions, labels)
    for name, e in estimates.items():
        verdict = "holds" if e.low <= A <= e.high else "MISSES"
        print(f"{name:<9} {e.value:>7.1%}  [{e.low:.1%}, {e.high:.1%}]  {verdict}")
    print(f"n: {estimates['ml'].n}")
    rows = {name: [round(e.value, 4), round(e.low, 4), round(e.high, 4)] for name, e in estimates.items()}
    print(json.dumps({"items": len(items), "truth": round(A, 4), **rows, "seconds": round(seconds, 1)}))


def template(classes: tuple[str, ...]) -> str:
    """Few-shot prompt with class names, the examples written for this benchmark."""
    shots = "".join(f"Abstract: {text}\n{SENTENCE} {name}.\n\n" for text, name in EXAMPLES)
    return f"Topics: {', '.join(classes)}.\n\n{shots}Abstract: $text\n{SENTENCE}"


def shortened(item: h.Item) -> h.Item:
    """The first words: a title and the opening, so that 600 abstracts take minutes."""
    text = " ".join(item.text.split()[:WORDS])
    return h.Item(item.id, text, item.options, item.permutation, item.meta)


if __name__ == "__main__":
    main()
