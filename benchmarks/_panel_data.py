"""Write the public multi-annotator data sets as long-form panels, for the commands in docs/panels.md.

    python benchmarks/_panel_data.py FOLDER

The script writes these files into FOLDER:

* chaosnli.csv: a hundred annotators per SNLI item, with roberta.csv (a model's labels), hundred.csv (the
  majority labels) and snli5.csv (the five original labels);
* bluebirds.csv: a panel of 29 workers, with ten_workers.csv (the majority of ten other workers, as a "model")
  and bluebirds_truth.csv;
* for each finding of CheXpert: eight radiologists, an AI system, and the majority of five radiologists;
* pubmedqa.csv: two annotators.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

SOURCE = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
RATING, CHOICE = ("item", "annotator", "label"), ("item", "label")
FINDINGS = ("Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pleural Effusion")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not SOURCE.is_dir():
        sys.exit(f"{SOURCE} is not there; set OVERSIGHT_DATASETS")
    write_all(Path(sys.argv[1]))


def write_all(folder: Path) -> None:
    """Write every file."""
    folder.mkdir(parents=True, exist_ok=True)
    chaosnli(folder)
    bluebirds(folder)
    chexpert(folder)
    pubmedqa(folder)


def chaosnli(folder: Path) -> None:
    """Write ChaosNLI's SNLI items: labels of a hundred anonymous annotators, and the five original labels.

    The data contain only how many annotators chose each label, so labels are assigned at random to a hundred
    made-up annotators.
    """
    data = pq.read_table(SOURCE / "chaosnli_and_models.parquet", use_threads=False).to_pylist()
    rows = [row for row in data if row["source"] == "snli"]
    hundred: list[tuple[str, str, str]] = []
    five: list[tuple[str, str, str]] = []
    for row in rows:
        labels = [c for c in "enc" for _ in range(row[f"n_{c}"])]
        order = np.random.default_rng(len(hundred)).permutation(len(labels))
        hundred += [(row["uid"], f"slot{slot}", labels[j]) for slot, j in enumerate(order)]
        five += [(row["uid"], f"old{j}", label[0]) for j, label in enumerate(row["old_labels"])]
    write(folder / "chaosnli.csv", RATING, hundred)
    write(folder / "snli5.csv", RATING, five)
    write(folder / "roberta.csv", CHOICE, [(r["uid"], r["roberta-base_s0"]) for r in rows])
    write(folder / "hundred.csv", CHOICE, [(r["uid"], r["majority"]) for r in rows])


def bluebirds(folder: Path) -> None:
    """Write 29 of 39 workers as the panel, the majority vote of the other ten as a model, and the truth."""
    data = read("crowd_bluebirds.csv.gz")
    workers = sorted({row["worker"] for row in data}, key=int)
    crowd: set[str] = set(workers[:29])
    machine: dict[str, Counter[str]] = defaultdict(Counter)
    for row in data:
        if row["worker"] not in crowd:
            machine[row["item"]][row["label"]] += 1
    write(
        folder / "bluebirds.csv",
        RATING,
        [(r["item"], f"w{r['worker']}", r["label"]) for r in data if r["worker"] in crowd],
    )
    said = {item: "1" if votes["1"] > votes["0"] else "0" for item, votes in machine.items()}
    write(folder / "ten_workers.csv", CHOICE, said.items())
    write(folder / "bluebirds_truth.csv", CHOICE, {r["item"]: r["truth"] for r in data}.items())


def chexpert(folder: Path) -> None:
    """Write eight radiologists as the panel, an AI system, and as truth the majority of five radiologists.

    There is one file of each kind per finding.
    """
    data = [row for row in read("chexpert_test_experts_and_ai.csv.gz") if row["finding"] in FINDINGS]
    raters = [name for name in data[0] if name.startswith("rad")]
    for finding in FINDINGS:
        rows = [row for row in data if row["finding"] == finding]
        name = finding.lower().replace(" ", "_")
        write(folder / f"{name}.csv", RATING, [(r["study"], a, r[a]) for r in rows for a in raters])
        write(folder / f"{name}_ai.csv", CHOICE, [(r["study"], str(int(float(r["ai_uestc"])))) for r in rows])
        write(folder / f"{name}_truth.csv", CHOICE, [(r["study"], r["groundtruth_majority5"]) for r in rows])


def pubmedqa(folder: Path) -> None:
    """Write the answers of two annotators, one who read the conclusion and one who did not."""
    columns = ["pmid", "final_decision", "reasoning_required_pred", "reasoning_free_pred"]
    path = SOURCE / "pubmedqa_l_expert_annotations.parquet"
    data = pq.read_table(path, columns=columns, use_threads=False).to_pylist()
    ratings = [(r["pmid"], a, r[f"reasoning_{a}_pred"]) for r in data for a in ("required", "free")]
    write(folder / "pubmedqa.csv", RATING, ratings)


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a gzipped CSV file."""
    with gzip.open(SOURCE / name, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
