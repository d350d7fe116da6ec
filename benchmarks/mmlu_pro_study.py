"""The main paper's study with twenty public models on MMLU-Pro, through the verbs as a user would.

The models' published answers are imported into a study of 3,000 ten-option questions: the paper's 300
ordinary and 2,700 complementary labels are what 3,000 random questions are expected to give. It is routed
uniformly as in the paper, by the models' predictions, and sequentially; experts answer from the key. Then
each way gets the number of items at which its intervals should be as wide as the uniform ones. Models are
ranked, and the best is searched for by the published scores and by ours (`_study_search.py`). `--write`
puts the tables, the picture and the numbers into docs/studies; finished parts are kept with --folder. The
last line is JSON.

    python benchmarks/mmlu_pro_study.py [--data FOLDER] [--quick] [--write] [--folder DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._real_predictions import collect, predictions
from benchmarks._study_folders import Published, ask, call, lay_out, read_published
from benchmarks._study_page import show_tables, write_page
from benchmarks._study_search import pick_models, search_local, search_scripted
from oversight import harness as h
from oversight.harness.errors import DataError
from oversight.harness.machine import write_whole
from oversight.protocols.routing import Partitioned, Sequential, Targeted, one_expert_per_class

DATA = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
ITEMS = 3_000
DESIGNS = {"partitioned": "ml", "targeted": "routed", "sequential": "resolved"}
"""Protocols, and the estimate that each prints first."""
EXPERT = one_expert_per_class(("*",))
LOOKING = {"targeted": Targeted, "sequential": Sequential}
Json = dict[str, Any]


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the public data sets")
    parser.add_argument("--quick", action="store_true", help="one study each, few searches, under 4 minutes")
    parser.add_argument("--write", action="store_true", help="write docs/studies; not with --quick")
    parser.add_argument("--folder", type=Path, help="keep the studies here, and go on with what is done")
    args = parser.parse_args(words)
    if args.write and args.quick:
        parser.error("--write: the page has the numbers of the whole run; leave --quick out")
    os.environ.setdefault("OPENAI_API_KEY", "none")
    started = time.perf_counter()
    try:
        data = read_published(args.data)
    except DataError as error:
        parser.error(str(error))
    with contextlib.ExitStack() as stack:
        folder = args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        found = run(folder, data, args.data, quick=args.quick)
    show_tables(found)
    if args.write:
        write_page(found)
    print(json.dumps(found | {"seconds": round(time.perf_counter() - started)}))


def run(folder: Path, data: Published, files: Path, *, quick: bool) -> Json:
    """Run all parts; each is read from the folder if it was run before."""

    def part(name: str, make: Callable[[], Json]) -> Json:
        path = folder / f"{name}{'-quick' * quick}.json"
        if not path.exists():
            begun = time.perf_counter()
            write_whole(json.dumps(make()), path)
            print(f"{name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
        found: Json = json.loads(path.read_text(encoding="utf-8"))
        return found

    found = {"study": part("study", lambda: one_study(folder / "study", data))}
    sizes = {"partitioned": ITEMS}
    if not quick:
        found["same_width"] = part("same_width", lambda: same_width(folder, data, found["study"]))
        sizes |= {protocol: design["items"] for protocol, design in found["same_width"].items()}
    found["repeated"] = {
        protocol: part(f"repeated-{protocol}", partial(repeat, data, protocol, items, 2 if quick else 60))
        for protocol, items in sizes.items()
    }
    found["pick"] = part("pick", lambda: pick_models(data, 8 if quick else 100))
    found["scripted"] = part("scripted", lambda: search_scripted(1 if quick else 16))
    if not quick:
        found["local"] = part("local", lambda: search_local(folder / "local", files))
    return found


def one_study(folder: Path, data: Published) -> Json:
    """Every protocol on the same items: estimates of each model, and the ranking."""
    base = folder / "base"
    lay_out(base, data, ITEMS)
    exact, designs = data.accuracies, dict[str, Json]()
    for protocol, name in DESIGNS.items():
        asked, questions = ask(base, protocol)
        printed = call(asked, "estimate")["models"]
        estimates = {model: _triple(printed[model]["estimates"][name]) for model in exact}
        designs[protocol] = {"questions": questions, "estimates": estimates, **_held(estimates, exact)}
        designs[protocol] |= _ranked(call(asked, "compare"), exact)
        if protocol == "partitioned":
            published = call(asked, "estimate", "--estimators", "paper")["models"]
            ivw = {model: _triple(published[model]["estimates"]["ivw"]) for model in exact}
            designs["published"] = {"questions": questions, "estimates": ivw, **_held(ivw, exact)}
    best = next(iter(exact))
    asked, questions = ask(base, "targeted", (best,))
    alone = {best: _triple(call(asked, "estimate", "--model", best)["models"][best]["estimates"]["routed"])}
    designs["targeted, one"] = {"questions": questions, "estimates": alone, **_held(alone, exact)}
    uniform = designs["partitioned"]["estimates"][best]
    designs["partitioned, one"] = {"questions": ITEMS, **_held({best: uniform}, exact)}
    return {"items": ITEMS, "pool": len(data.items), "accuracies": exact, "designs": designs}


def same_width(folder: Path, data: Published, study: Json) -> Json:
    """Every protocol on the number of items that should give the width of uniform intervals."""
    wanted, found = study["designs"]["partitioned"]["width"], dict[str, Json]()
    for protocol in ("targeted", "sequential"):
        n = round(ITEMS * (study["designs"][protocol]["width"] / wanted) ** 2)
        base = folder / f"same-{protocol}"
        lay_out(base, data, n)
        asked, questions = ask(base, protocol)
        printed = call(asked, "estimate")["models"]
        estimates = {m: _triple(printed[m]["estimates"][DESIGNS[protocol]]) for m in data.answers}
        found[protocol] = {"items": n, "questions": questions, **_held(estimates, data.accuracies)}
        found[protocol] |= _ranked(call(asked, "compare"), data.accuracies)
    return found


def repeat(data: Published, protocol: str, n: int, draws: int) -> Json:
    """Repeat such a study with other items and options: share of models whose interval covers."""
    held, exact = list[int](), data.accuracies
    for seed in range(draws):
        chosen = np.random.default_rng(seed).choice(len(data.items), n, replace=False)
        items = [data.items[j] for j in chosen]
        answers = {m: {i.id: options[i.id] for i in items} for m, options in data.answers.items()}
        plan = (
            Partitioned(EXPERT, seed)
            if protocol == "partitioned"
            else LOOKING[protocol](EXPERT, answers, seed)
        )
        labels = collect(plan, items, data.key)
        found = {m: h.accuracy(predictions(items, options), labels) for m, options in data.answers.items()}
        held.append(sum(e.low <= exact[m] <= e.high for m, e in found.items()))
    share = round(sum(held) / (draws * len(exact)), 4)
    return {"items": n, "draws": draws, "models": len(exact), "coverage": share, "fewest": min(held)}


def _triple(estimate: Json) -> list[float]:
    return [round(estimate[name], 4) for name in ("estimate", "low", "high")]


def _held(estimates: dict[str, list[float]], exact: dict[str, float]) -> Json:
    held = sum(low <= exact[model] <= high for model, (_, low, high) in estimates.items())
    width = float(np.mean([high - low for _, low, high in estimates.values()]))
    return {"held": held, "models": len(estimates), "width": round(width, 4)}


def _ranked(printed: Json, exact: dict[str, float]) -> Json:
    """Number of separated pairs, of wrong ones, and of models whose rank interval covers."""
    apart = [pair for pair in printed["comparisons"] if pair["p_value"] < 1 - pair["level"]]
    wrong = sum((pair["difference"] > 0) != (exact[pair["first"]] > exact[pair["second"]]) for pair in apart)
    true = {model: place for place, model in enumerate(exact, start=1)}
    ranks = {row["model"]: row["ranks"] for row in printed["ranking"]}
    held = sum(first <= true[model] <= last for model, (first, last) in ranks.items())
    share = float(np.mean([last - first + 1 for first, last in ranks.values()]))
    return {
        "pairs": len(printed["comparisons"]),
        "apart": len(apart),
        "wrong": wrong,
        "ranks_held": held,
        "ranks_each": round(share, 1),
    }


if __name__ == "__main__":
    main()
