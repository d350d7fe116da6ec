"""Pages of the items of a large study: what indexing their words costs, and how long a page takes.

A study is made directly in its database, see `benchmarks/_scale_studies.py`. Its index of words is emptied
and made again by a first search, then the columns are read once, then pages with filters and words.

    python benchmarks/item_pages.py [--quick] [--items N] [--models M] [--engine sqlite|postgresql]

The last line is JSON: seconds by the clock of indexing all words, of reading the columns, of
a column of strata, and of the slowest page; peak megabytes.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._scale_studies import CLASSES, make_scale_study
from oversight.harness.analysis import ItemFilter, ItemVerdict, ModelOutcome, StudyItems
from oversight.harness.store import Store
from tests.postgresql_server import start_postgresql

_EMPTY = {
    "sqlite": "INSERT INTO item_words (item_words) VALUES ('delete-all')",
    "postgresql": "TRUNCATE item_words",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="100,000 items")
    parser.add_argument("--items", type=int)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--engine", choices=sorted(_EMPTY), default="sqlite")
    args = parser.parse_args()
    number = args.items or (100_000 if args.quick else 1_000_000)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oversight-pages")))
        url = stack.enter_context(start_postgresql()) if args.engine == "postgresql" else ""
        study = make_scale_study(folder, number, args.models, url)
        with Store(study.url) as store:
            print(f"{number:,} items x {args.models} models, {args.engine}", flush=True)
            print(json.dumps(measure(store, number)))


def measure(store: Store, number: int) -> dict[str, float]:
    """Print a line for everything that is timed."""
    with store.transaction() as connection:
        connection.execute(sa.text(_EMPTY[connection.dialect.name]))
    begun = time.perf_counter()
    store.words.find("w0")
    found = {"index_s": show("index of words", begun)}
    store.run_columns.keep([run["id"] for run in store.runs.read_runs()])  # as when a run ends
    begun = time.perf_counter()
    columns = StudyItems.read(store)
    found["columns_s"] = show("columns", begun)
    begun = time.perf_counter()
    columns.find(ItemFilter(stratum=("shift", "night")))
    found["stratum_s"] = show("a column of strata", begun)
    slowest = 0.0
    for name, wanted, place in list_pages(number):
        begun = time.perf_counter()
        page = columns.read_page(wanted, **place)
        slowest = max(slowest, show(f"{name}: {page.matches:,} items", begun))
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
    return found | {"page_s": slowest, "mb": round(mb)}


def list_pages(number: int) -> list[tuple[str, ItemFilter, dict[str, int]]]:
    """Name, filter and place of each page that is timed."""
    refuted = ItemFilter(outcome=ModelOutcome.REFUTED)
    expert, model = f"{CLASSES[0]}-expert", "model-00"
    return [
        ("first page", ItemFilter(), {}),
        ("last page", ItemFilter(), {"before": number}),
        ("refuted of any model", refuted, {}),
        ("the same, last page", refuted, {"before": number}),
        ("confirmed of one model", ItemFilter(model=model, outcome=ModelOutcome.CONFIRMED), {}),
        ("unreadable", ItemFilter(outcome=ModelOutcome.UNREADABLE), {"after": number // 2}),
        ("disagreed", ItemFilter(disagreed=(model, "model-01")), {}),
        ("no of an expert", ItemFilter(expert=expert, verdict=ItemVerdict.REFUTED), {}),
        ("stratum and class", ItemFilter(stratum=("shift", "night"), asked=CLASSES[1]), {}),
        ("rare word", ItemFilter(words="w19999"), {}),
        ("an id", ItemFilter(words=f"{number - 1}"), {}),
        ("frequent word", ItemFilter(words="w0"), {}),
        ("frequent word, last page", ItemFilter(words="w0"), {"before": number}),
        ("word in every item", ItemFilter(words="neurology"), {}),
        ("beginning of a word", ItemFilter(words="w12"), {}),
        ("words and refuted", ItemFilter(words="w0 w1 w2", outcome=ModelOutcome.REFUTED), {}),
    ]


def show(name: str, begun: float) -> float:
    """Print one line; return its seconds."""
    seconds = time.perf_counter() - begun
    print(f"  {name:<44}{seconds:8.2f} s", flush=True)
    return round(seconds, 2)


if __name__ == "__main__":
    main()
