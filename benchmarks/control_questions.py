"""Measure the coverage of intervals if experts err, and only control questions reveal their error rates.

Every draw is a whole study of one model with the functions that the commands call. ``label route`` inserts
gold, second experts and repeats into the queues, experts answer with known error rates, and ``estimate``
corrects for errors. In designs called "unlike", experts have different error rates. The last line is JSON.

    python benchmarks/control_questions.py [--quick] [--draws N]
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._options import read_options
from benchmarks._study_files import write_study, write_table
from oversight.harness import derive_seed
from oversight.harness.analysis import import_predictions, report_study
from oversight.harness.config import Study, read_study
from oversight.harness.store import Response, Store
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import read_pending
from oversight.protocols.study_labels import route_questions

OPTIONS, ITEMS = 4, 300
CLASSES = [f"c{k}" for k in range(OPTIONS)]
GOLD = 'gold = "gold.csv"\ngold_share = 0.1'


@dataclass(frozen=True)
class Design:
    """A study design: its control questions, the experts' error rates, and the estimate that is checked.

    `extra` are lines of the [experts] section of study.toml. `spread` is the largest difference of an
    expert's error rates from the mean, and `experts` the number of experts per class.
    """

    name: str
    extra: str
    accuracy: float = 0.8
    sensitivity: float = 0.9
    specificity: float = 0.95
    experts: int = 1
    spread: float = 0.0
    estimate: str = "corrected"


DESIGNS = (
    Design("gold 10 %", GOLD),
    Design("gold 10 %, A .5", GOLD, accuracy=0.5),
    Design("gold 10 %, A .98", GOLD, accuracy=0.98),
    Design("gold 10 %, no errors", GOLD, sensitivity=1.0, specificity=1.0),
    Design("gold 10 %, experts unlike", GOLD, experts=2, spread=0.09),
    Design("gold 10 %, targeted", f'{GOLD}\nprotocol = "targeted"'),
    Design("gold, repeats, overlap 5 %", f"{GOLD}\nrepeat = 0.05\noverlap = 0.05", experts=2),
    Design("overlap 10 %", "overlap = 0.1", experts=2, estimate="hui_walter"),
    Design("overlap 30 %", "overlap = 0.3", experts=2, estimate="hui_walter"),
    Design("ranges .85-1, .9-1", "sensitivity = [0.85, 1.0]\nspecificity = [0.9, 1.0]", estimate="bounded"),
)
"""Designs that are measured. The first design is the standard one; the others vary it."""


def lay_out(folder: Path, design: Design, seed: int) -> tuple[Study, dict[str, int]]:
    """Write the files of a study, with a model's predictions. Returns the study, and true options by item."""
    rng = np.random.default_rng(derive_seed(seed, design.name))
    truth, gold = rng.integers(OPTIONS, size=ITEMS), rng.integers(OPTIONS, size=ITEMS // 5)
    wrong = (truth + rng.integers(1, OPTIONS, size=ITEMS)) % OPTIONS
    option = np.where(rng.random(ITEMS) < design.accuracy, truth, wrong)
    write_table(folder / "items.csv", ("id", "text"), [(f"i{j}", f"note {j}") for j in range(ITEMS)])
    rows = [(f"gold note {j}", CLASSES[t]) for j, t in enumerate(gold)]
    write_table(folder / "gold.csv", ("text", "answer"), rows)
    predicted = [(f"i{j}", CLASSES[o]) for j, o in enumerate(option)]
    write_table(folder / "model.csv", ("id", "prediction"), predicted)
    settings = (
        f'[study]\nname = "s"\nseed = {seed}\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
        f"[experts]\n{design.extra}\n"
    )
    write_study(folder, settings, {f"{c}{e}": c for c in CLASSES for e in range(design.experts)})
    return read_study(folder / "study.toml"), {f"i{j}": int(t) for j, t in enumerate(truth)}


def answer(study: Study, truth: dict[str, int], design: Design, seed: int) -> None:
    """Let every expert answer all their questions, with individual error rates."""
    rng = np.random.default_rng(derive_seed(seed, "rates", design.name))
    with Store(study.store_url) as store:
        asked = read_pending(study, store)
        gold = {name: g.truth for name, g in store.controls.read_gold_items().items()}
        people = sorted({one.expert for one in asked})
        shift = dict(zip(people, design.spread * rng.uniform(-1, 1, len(people)), strict=True))
        for name in people:
            rates = (design.sensitivity, design.specificity)
            s, t = (min(1.0, rate + shift[name] * (rate < 1)) for rate in rates)
            experts = SimulatedExperts(truth | gold, s, t, 0.0, seed)
            said = experts.answer([one for one in asked if one.expert == name])  # type: ignore[misc]
            replies = [Response(a.question.id, a.expert, str(a.verdict), a.source) for a in said]
            store.replies(panel=False).add_replies(replies)


def run_once(design: Design, seed: int) -> tuple[bool, float, bool] | None:
    """Run one study. Returns whether its interval covers, its width, and whether the uncorrected one covers.

    Returns None if the estimate was withheld.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        study, truth = lay_out(folder, design, seed)
        import_predictions(study, str(folder / "model.csv"), "model")
        route_questions(study)
        answer(study, truth, design, seed)
        with Store(study.store_url) as store:
            made = report_study(store, study).models[0].estimates
    e, plain = made.get(design.estimate), made.get("ml") or made.get("routed")
    if e is None or plain is None:
        return None
    A = design.accuracy
    return e.low <= A <= e.high, e.high - e.low, plain.low <= A <= plain.high


def main() -> None:
    draws = read_options(__doc__, {"--draws": (500, 10)}).draws
    start, found = time.perf_counter(), {}
    for design in DESIGNS:
        made = [run_once(design, seed) for seed in range(draws)]
        means = np.mean([m for m in made if m is not None], axis=0).round(3).tolist()
        shares = dict(zip(("holds", "width", "uncorrected"), means, strict=True))
        found[design.name] = shares | {"withheld": sum(m is None for m in made)}
        print(f"{design.name:<28}{found[design.name]}", flush=True)
    print(json.dumps({"draws": draws, "designs": found, "seconds": round(time.perf_counter() - start, 1)}))


if __name__ == "__main__":
    main()
