"""Measure the page of a large study: response times of its server, and memory.

The study is that of `benchmarks/_scale_studies.py`. The real server is asked for the parts of the page: items
by several filters, one item, the head of the page, and results that it must compute.

    python benchmarks/view.py [--quick]

The last line is JSON. It contains wall-clock seconds: until the server answers (`start_s`), for the first
page of items (`items_s`), for the head of the page and a page of items after a change (`head_s`, `behind_s`),
for the overview (`overview_s`), and for the slowest page of items (`page_s`); and peak megabytes (`mb`).
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

from benchmarks._options import read_options
from benchmarks._scale_studies import CLASSES, make_scale_study
from benchmarks._view_server import Served, serve
from oversight.harness.store import Store

MODELS = 3
FILTERS: list[dict[str, str | int]] = [
    {},
    {"after": 1000},
    {"outcome": "refuted"},
    {"model": "model-00", "outcome": "confirmed"},
    {"disagreed": "model-00\nmodel-01\nmodel-02"},
    {"verdict": "abstained"},
    {"verdict": "refuted", "asked": CLASSES[0]},
    {"words": "w1"},
    {"words": "w1 w2"},
    {"column": "shift", "stratum": "night"},
]


def main() -> None:
    number = 100_000 if read_options(__doc__).quick else 1_000_000
    with tempfile.TemporaryDirectory(prefix="oversight-view") as folder:
        url = f"sqlite:///{make_scale_study(Path(folder), number, MODELS)}"
        with Store(url) as store:
            # Cache the columns of the runs; `oversight run` does this when it ends.
            store.run_columns.keep([run["id"] for run in store.runs.read_runs()])
        print(f"{number:,} items x {MODELS} models", flush=True)
        begun = time.perf_counter()
        with serve(Path(folder)) as served:
            found = {"start_s": show("the server answers", begun)}
            print(json.dumps(found | measure(served, url)))


def measure(served: Served, url: str) -> dict[str, float]:
    """Time requests for all parts of the page, and print each. Returns the main results."""
    found = {"items_s": ask(served, "first page of items, columns to be read", "items")}
    ask(served, "column of strata, to be read", "column", name="shift")
    slowest = max(ask(served, f"items by {wanted}", "items", **wanted) for wanted in FILTERS)
    ask(served, "one item", "item", id=str(served.read("items")["items"][7]["id"]))  # type: ignore[index]
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE answer SET comment = comment WHERE position = 0"))
    engine.dispose()
    time.sleep(1)  # wait until the server has noticed the change
    found["head_s"] = ask(served, "head of the page, after a change", "frame")
    found["behind_s"] = ask(served, "items, while columns are read again", "items")
    ask(served, "progress", "progress")
    found["overview_s"] = ask(served, "overview", "overview")
    ask(served, "differences", "differences")
    ask(served, "closing interval", "closing", model="model-00")
    status = Path(f"/proc/{served.process.pid}/status").read_text(encoding="ascii")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return found | {"page_s": slowest, "mb": round(peak / 1024)}


def ask(served: Served, what: str, part: str, **params: str | int) -> float:
    """Request a part of the page, and return the seconds it takes."""
    begun = time.perf_counter()
    served.read(part, **params)
    return show(what, begun)


def show(what: str, begun: float) -> float:
    taken = round(time.perf_counter() - begun, 2)
    print(f"{taken:8.2f} s  {what}", flush=True)
    return taken


if __name__ == "__main__":
    main()
