"""Studies on disk with the twenty models' published answers to MMLU-Pro, made with the verbs only."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from oversight import harness as h
from oversight.harness.cli.main import main as oversight
from oversight.harness.errors import DataError
from oversight.harness.output import shorten

SEED = 7
STUDY = """\
[study]
name = "Twenty models on MMLU-Pro"
seed = {seed}

[items]
file = "items.jsonl"
meta = ["category"]

[experts]
protocol = "{protocol}"
{models}"""
ROSTER = '[[expert]]\nname = "expert"\nclasses = ["*"]\n'
UNREADABLE = "(no answer that could be read)"


@dataclass(frozen=True, kw_only=True)
class Published:
    """The ten-option items, their key, and every model's option for each (None: unreadable)."""

    items: list[h.Item]
    key: dict[str, int]
    answers: dict[str, dict[str, int | None]]

    def accuracy(self, model: str) -> float:
        """A model's accuracy by the full key."""
        return float(np.mean([self.answers[model][name] == true for name, true in self.key.items()]))

    @property
    def accuracies(self) -> dict[str, float]:
        """Accuracies of all models, the best first."""
        return dict(sorted(((m, self.accuracy(m)) for m in self.answers), key=lambda pair: -pair[1]))


def read_published(folder: Path) -> Published:
    """Read the benchmark by its preset, and the models' letters; DataError if a file is incomplete."""
    files = [folder / f"mmlu_pro_{name}.parquet" for name in ("questions", "model_predictions")]
    for path in files:
        if not path.is_file():
            raise DataError("is not there; give the folder with --data", file=path)
    items, key = h.read_preset("mmlu-pro", files[0], seed=SEED)
    try:
        table = pq.read_table(files[1], use_threads=False).to_pydict()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"not a whole Parquet file: {shorten(error)}", file=files[1]) from None
    rows = {f"mmlu-pro-{number}": j for j, number in enumerate(table["question_id"])}
    known = {"question_id", "category", "n_options", "answer"}
    answers: dict[str, dict[str, int | None]] = {}
    for model in (name for name in table if name not in known):
        letters = ((item.id, table[model][rows[item.id]]) for item in items)
        answers[model] = {name: "ABCDEFGHIJ".find(letter) if letter else None for name, letter in letters}
        answers[model] = {name: None if option == -1 else option for name, option in answers[model].items()}
    return Published(items=items, key=key, answers=answers)


def lay_out(folder: Path, data: Published, items: int) -> None:
    """Create a base study completely or not at all: random items, imported answers, no questions."""
    if folder.exists():
        return
    whole, folder = folder, folder.with_name(f"{folder.name}.part")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    drawn = np.random.default_rng(SEED).choice(len(data.items), items, replace=False)
    chosen = [data.items[j] for j in sorted(drawn)]
    rows = (
        {"id": i.id, "text": i.text, "options": list(i.options), "category": i.meta["category"]}
        for i in chosen
    )
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    _write(folder / "key.csv", "label", {i.id: i.options[data.key[i.id]] for i in chosen})
    (folder / "experts.toml").write_text(ROSTER, encoding="utf-8")
    settle(folder, "partitioned")
    for model, options in data.answers.items():
        said = {i.id: UNREADABLE if (o := options[i.id]) is None else i.options[o] for i in chosen}
        path = folder / f"{model}.csv"
        _write(path, "prediction", said)
        call(folder, "predictions", "import", str(path), "--model", model, "--format", "table")
    folder.rename(whole)


def settle(folder: Path, protocol: str, models: tuple[str, ...] = ()) -> None:
    """Write the study's settings."""
    named = f"models = {json.dumps(models)}\n" if models else ""
    text = STUDY.format(seed=SEED, protocol=protocol, models=named)
    (folder / "study.toml").write_text(text, encoding="utf-8")


def ask(base: Path, protocol: str, models: tuple[str, ...] = ()) -> tuple[Path, int]:
    """Copy a base study, draw and answer its questions until none is left; return their number."""
    folder = base.with_name(f"{base.name}-{protocol}-{len(models) or 'all'}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder)
    settle(folder, protocol, models)
    asked = 0
    while new := call(folder, "label", "route")["new"]:
        asked += new
        call(folder, "label", "simulate", "--key", str(folder / "key.csv"))
    return folder, asked


def call(folder: Path, *words: str) -> dict[str, Any]:
    """Run a verb on a study and return its JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
        code = oversight([*words, "--study", str(folder / "study.toml"), "--json"])
    if code:
        sys.exit(f"oversight {' '.join(words)}: {err.getvalue() or out.getvalue()}")
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def _write(path: Path, column: str, values: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("id", column), *values.items()])
