"""Write public multi-annotator data sets as long-form panels, for the commands in docs/panels.md.

    python benchmarks/_panel_data.py FOLDER

The script writes these files into FOLDER:

* pubmedqa.csv: a panel of two annotators;
* bluebirds.csv: a panel of 29 workers, with ten_workers.csv (the majority of ten other workers, as a "model")
  and bluebirds_truth.csv;
* chaosnli.csv: a hundred annotators per SNLI item, with roberta.csv (a model's labels).
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks._real_predictions import FOLDER
from benchmarks._study_files import write_table

RATING, CHOICE = ("item", "annotator", "label"), ("item", "label")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not FOLDER.is_dir():
        sys.exit(f"{FOLDER} is not there; set OVERSIGHT_DATASETS")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    chaosnli(folder)
    bluebirds(folder)
    pubmedqa(folder)


def chaosnli(folder: Path) -> None:
    """Write ChaosNLI's SNLI items with the labels of a hundred anonymous annotators.

    The data contain only how many annotators chose each label, so labels are assigned at random to a hundred
    made-up annotators.
    """
    data = pq.read_table(FOLDER / "chaosnli_and_models.parquet", use_threads=False).to_pylist()
    rows = [row for row in data if row["source"] == "snli"]
    ratings: list[tuple[str, str, str]] = []
    for row in rows:
        labels = [c for c in "enc" for _ in range(row[f"n_{c}"])]
        order = np.random.default_rng(len(ratings)).permutation(len(labels))
        ratings += [(row["uid"], f"slot{slot}", labels[j]) for slot, j in enumerate(order)]
    write_table(folder / "chaosnli.csv", RATING, ratings)
    write_table(folder / "roberta.csv", CHOICE, [(r["uid"], r["roberta-base_s0"]) for r in rows])


def bluebirds(folder: Path) -> None:
    """Write 29 of 39 workers as the panel, the majority vote of the other ten as a model, and the truth."""
    with gzip.open(FOLDER / "crowd_bluebirds.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        data = list(csv.DictReader(stream))
    crowd = set(sorted({row["worker"] for row in data}, key=int)[:29])
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for row in data:
        if row["worker"] not in crowd:
            votes[row["item"]][row["label"]] += 1
    ratings = [(r["item"], f"w{r['worker']}", r["label"]) for r in data if r["worker"] in crowd]
    write_table(folder / "bluebirds.csv", RATING, ratings)
    majority = [(item, "1" if of["1"] > of["0"] else "0") for item, of in votes.items()]
    write_table(folder / "ten_workers.csv", CHOICE, majority)
    truth = {r["item"]: r["truth"] for r in data}
    write_table(folder / "bluebirds_truth.csv", CHOICE, truth.items())


def pubmedqa(folder: Path) -> None:
    """Write the answers of two annotators, one who read the conclusion and one who did not."""
    columns = ["pmid", "reasoning_required_pred", "reasoning_free_pred"]
    path = FOLDER / "pubmedqa_l_expert_annotations.parquet"
    data = pq.read_table(path, columns=columns, use_threads=False).to_pylist()
    ratings = [(r["pmid"], a, r[f"reasoning_{a}_pred"]) for r in data for a in ("required", "free")]
    write_table(folder / "pubmedqa.csv", RATING, ratings)


if __name__ == "__main__":
    main()
