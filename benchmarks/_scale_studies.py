"""Create studies of any size in a database, with the same rows that the commands would write.

Items are written by the store; questions, answers and predictions by bulk inserts, because the commands that
create them are not measured here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from oversight.harness.config import RunSpec
from oversight.harness.store import Store
from oversight.harness.types import Item

CLASSES = ("cardiology", "neurology", "nephrology", "dermatology")
STRATA = ("day", "night", "weekend")
WORDS, VOCABULARY = 24, 20_000
PORTION = 50_000
Codes = NDArray[np.int8]

_QUESTION = "id item_id protocol propensity seed option expert n_options propensities"
_ANSWER = "position expert source comment question_id verdict"
_PREDICTION = (
    "run_id item_id sample option status reason raw "
    "input_tokens output_tokens seconds attempts confidence source"
)


def make_scale_study(folder: Path, items: int, models: int, url: str = "") -> str:
    """Create a study in which every item has one answer, and one prediction per model. Returns its store URL.

    3 % of the answers are "unsure". 2 % of the predictions are unreadable, and 1 % of the predictions failed.
    The models' accuracies are from 50 to 90 %. Texts have 24 words with very unequal frequencies.
    """
    url = url or f"sqlite:///{folder / 'study.db'}"
    _write_files(folder, url)
    rng = np.random.default_rng(7)
    truth = rng.integers(4, size=items, dtype=np.int8)
    asked = rng.integers(4, size=items, dtype=np.int8)
    verdict = np.where(rng.random(items) < 0.03, -1, asked == truth).astype(np.int8)
    predicted = np.stack([_predict(rng, truth, accuracy) for accuracy in np.linspace(0.5, 0.9, models)])
    specs = [_spec(number) for number in range(models)]
    with Store(url) as store:
        store.content.add_items(_items(rng, items))
        for spec in specs:
            store.runs.add_run(spec)
        _load(store, "question", _QUESTION, _questions(asked))
        _load(store, "answer", _ANSWER, _answers(asked, verdict))
        for spec, options in zip(specs, predicted, strict=True):
            _load(store, "prediction", _PREDICTION, _predictions(spec.id, options))
        if not url.startswith("sqlite"):
            _analyze(store)
    return url


def item_id(position: int) -> str:
    """Return the id of an item. Items are not inserted in the order of ids, which would be faster."""
    return f"{position * 2_654_435_761 % 2**32:08x}-{position}"


def _write_files(folder: Path, url: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    experts = "".join(f'[[expert]]\nname = "{c}-expert"\nclasses = ["{c}"]\n\n' for c in CLASSES)
    folder.joinpath("experts.toml").write_text(experts, encoding="utf-8")
    folder.joinpath("study.toml").write_text(
        f'[study]\nname = "scale"\nseed = 7\nstore = "{url}"\n\n[items]\nfile = "items.csv"\n'
        f'classes = {json.dumps(CLASSES)}\nmeta = ["shift"]\n\n[experts]\nprotocol = "partitioned"\n',
        encoding="utf-8",
    )


def _items(rng: np.random.Generator, number: int) -> Iterator[Item]:
    for first in range(0, number, PORTION):
        size = min(PORTION, number - first)
        words = (VOCABULARY * rng.random((size, WORDS)) ** 4).astype(np.int64)
        for position, row in enumerate(words.tolist(), first):
            text = " ".join([f"w{word}" for word in row])
            yield Item(item_id(position), text, CLASSES, (0, 1, 2, 3), {"shift": STRATA[position % 3]})


def _predict(rng: np.random.Generator, truth: Codes, accuracy: float) -> Codes:
    wrong = (truth + rng.integers(1, 4, size=len(truth), dtype=np.int8)) % 4
    found = np.where(rng.random(len(truth)) < accuracy, truth, wrong)
    fate = rng.random(len(truth))
    return np.where(fate < 0.02, -1, np.where(fate < 0.03, -2, found)).astype(np.int8)


def _spec(number: int) -> RunSpec:
    return RunSpec(
        name=f"model-{number:02d}",
        model=f"model-{number:02d}",
        endpoint="import csv",
        temperature=None,
        max_tokens=None,
        stop=(),
        template=f"model-{number:02d}.csv",
        max_words=None,
    )


def _questions(asked: Codes) -> Iterator[tuple[Any, ...]]:
    for j, k in enumerate(map(int, asked)):
        yield f"q{j:015x}", item_id(j), "partitioned", 0.25, 7, k, f"{CLASSES[k]}-expert", 4, "[]"


def _answers(asked: Codes, verdict: Codes) -> Iterator[tuple[Any, ...]]:
    said = ("no", "yes", "unsure")
    for j, (k, v) in enumerate(zip(map(int, asked), map(int, verdict), strict=True)):
        yield j, f"{CLASSES[k]}-expert", "csv", "", f"q{j:015x}", said[v]


def _predictions(run: str, options: Codes) -> Iterator[tuple[Any, ...]]:
    use = (90, 9, 0.5, 1, None, "import")
    for j, k in enumerate(map(int, options)):
        name = item_id(j)
        if k >= 0:
            yield run, name, 0, k, "ok", "", f"I would say {CLASSES[k]}.", *use
        elif k == -1:
            yield run, name, 0, None, "unreadable", "no option", "I cannot tell from this.", *use
        else:
            yield run, name, 0, None, "failed", "timeout: no answer within 60 s", "", *use


def _load(store: Store, table: str, names: str, rows: Iterable[Sequence[Any]]) -> None:
    columns = [f'"{name}"' for name in names.split()]
    with store.transaction() as connection:
        driver: Any = connection.connection.driver_connection
        if connection.dialect.name == "sqlite":
            marks = ", ".join("?" for _ in columns)
            driver.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608  fixed names
        else:
            with (
                driver.cursor() as cursor,
                cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy,
            ):
                for row in rows:
                    copy.write_row(row)


def _analyze(store: Store) -> None:
    """Let PostgreSQL collect statistics now, as its autovacuum would do later."""
    with store.transaction() as connection:
        connection.execute(sa.text("ANALYZE"))
