"""Real predictions of twenty models, every protocol: how often do printed intervals hold the known accuracy?

Items of 2 to 10 options are drawn from MMLU-Pro; the protocol's own rule routes the questions for four models
drawn at random, experts answer from the published truth. Uniform routing is estimated with and without strata
by subject; a fifth model is measured by the answers that were asked for the four.

    python benchmarks/real_protocols.py [--quick] [--items 300] [--draws 100]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from oversight import harness as h
from oversight.harness import EstimateError
from oversight.harness.types import Answer, Item, Labels, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Disagreement, Partitioned, Sequential, Targeted, one_expert_per_class

FOLDER = Path(os.environ.get("OVERSIGHT_DATASETS", Path(__file__).parents[2] / "shared" / "datasets"))
LETTERS = tuple("ABCDEFGHIJ")
ROSTER = one_expert_per_class(LETTERS)
Options = dict[str, int | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer draws, under 2 minutes")
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--draws", type=int, default=100)
    args = parser.parse_args()
    draws = 25 if args.quick else args.draws
    started = time.perf_counter()
    items, truth, subject, models = load()
    held: dict[str, list[bool]] = defaultdict(list)
    width: dict[str, list[float]] = defaultdict(list)
    withheld: dict[str, int] = defaultdict(int)
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        chosen = [items[j] for j in rng.choice(len(items), args.items, replace=False)]
        names = rng.choice(list(models), 5, replace=False).tolist()
        for design, value, found in estimates(chosen, names, models, truth, subject, seed):
            if found is None:
                withheld[design] += 1
            elif found.holds:
                held[design].append(found.low - 1e-9 <= value <= found.high + 1e-9)
                width[design].append(found.high - found.low)
    print(f"{draws} draws of {args.items} items, 20 models, nominal 95 %")
    print(f"{'design':<34} {'holds':>7} {'intervals':>9} {'withheld':>8} {'mean width':>10}")
    for design, hits in held.items():
        line = f"{np.mean(hits):>7.1%} {len(hits):>9} {withheld[design]:>8} {np.mean(width[design]):>10.3f}"
        print(f"{design:<34} {line}")
    result = {
        "coverage": {name: round(float(np.mean(hits)), 4) for name, hits in held.items()},
        "width": {name: round(float(np.mean(widths)), 4) for name, widths in width.items()},
        "withheld": dict(withheld),
        "draws": draws,
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(result))


def load() -> tuple[list[Item], dict[str, int], dict[str, str], dict[str, Options]]:
    """Items with two options or more, their truth and subject, and every model's options by name."""
    path = FOLDER / "mmlu_pro_model_predictions.parquet"
    if not path.exists():
        sys.exit(f"{path} is not there; set OVERSIGHT_DATASETS")
    table = pq.read_table(path, use_threads=False).to_pydict()
    known = {"question_id", "category", "n_options", "answer"}
    items, truth, subject = [], {}, {}
    models: dict[str, Options] = {name: {} for name in table if name not in known}
    for j, k in enumerate(table["n_options"]):
        if k < 2:
            continue
        item = Item(str(table["question_id"][j]), "?", LETTERS[:k], tuple(range(k)))
        items.append(item)
        truth[item.id] = LETTERS.index(table["answer"][j])
        subject[item.id] = table["category"][j]
        for name, options in models.items():
            letter = table[name][j]
            options[item.id] = LETTERS.index(letter) if letter and letter in LETTERS[:k] else None
    return items, truth, subject, models


def estimates(
    items: Sequence[Item],
    names: Sequence[str],
    models: dict[str, Options],
    truth: dict[str, int],
    subject: dict[str, str],
    seed: int,
) -> list[tuple[str, float, Any]]:
    """Design, true value on the whole set, and what is printed of it (None: withheld)."""
    exact = {n: float(np.mean([models[n][i] == t for i, t in truth.items()])) for n in names}
    rows = {n: predictions(items, models[n]) for n in names}
    four = {n: {item.id: models[n][item.id] for item in items} for n in names[:4]}
    two = {n: four[n] for n in names[:2]}
    found: list[tuple[str, float, Any]] = []
    uniform = collect(Partitioned(ROSTER, seed), items, truth)
    for name in names[:4]:
        found.append(("uniform", exact[name], tried(rows[name], uniform)))
        found.append(("uniform, strata by subject", exact[name], tried(rows[name], uniform, strata=subject)))
    shared = collect(Targeted(ROSTER, four, seed), items, truth)
    resolved = collect(Sequential(ROSTER, four, seed), items, truth)
    for name in names[:4]:
        found.append(("targeted for four", exact[name], tried(rows[name], shared)))
        found.append(("sequential for four", exact[name], tried(rows[name], resolved)))
    found.append(("targeted, a model run later", exact[names[4]], tried(rows[names[4]], shared)))
    single = collect(Targeted(ROSTER, {names[0]: four[names[0]]}, seed), items, truth)
    found.append(("targeted for one", exact[names[0]], tried(rows[names[0]], single)))
    difference = exact[names[0]] - exact[names[1]]
    coin = collect(Disagreement(ROSTER, two, seed), items, truth)
    for design, labels in (("uniform", uniform), ("targeted", shared), ("disagreement", coin)):
        (pair,) = h.compare({n: rows[n] for n in names[:2]}, labels).pairs
        found.append((f"difference, {design}", difference, pair))
    return found


def tried(rows: Sequence[Prediction], labels: Labels, **options: Any) -> Any:
    """`oversight.harness.accuracy`, None where it is withheld."""
    try:
        return h.accuracy(rows, labels, **options)
    except EstimateError:
        return None


def predictions(items: Sequence[Item], options: Options) -> list[Prediction]:
    """A model's predictions; an answer that could not be parsed is unreadable."""
    return [
        Prediction(
            item.id, option, PredictionStatus.OK if option is not None else PredictionStatus.UNREADABLE
        )
        for item in items
        for option in (options[item.id],)
    ]


def collect(plan: Any, items: Sequence[Item], truth: dict[str, int]) -> Labels:
    """All questions of a rule, answered from the truth."""
    experts, answers = SimulatedExperts(truth), list[Answer]()
    waiting = plan.route(items)
    drawn = list(waiting)
    while waiting:
        answers += experts.answer(waiting)
        waiting = plan.next_questions(items, answers) if plan.statement.asks_on else []
        drawn += waiting
    return h.decode(answers, drawn)


if __name__ == "__main__":
    main()
