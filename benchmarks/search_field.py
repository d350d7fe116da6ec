"""Compare our search with rivals on the same task, labels, solver and edits, with the same number of calls.

1. Our search runs with the real commands, database, sandbox and default settings; simulated models answer
   items and edit programs (`_field_ours`). The rivals make as many calls, with the same items and labels:
   random search, greedy halving of batches, AFlow's published rule with full validation, and gepa (in a
   separate environment). Every rival is tried in several settings. Our search is compared with the rival's
   best setting, which is known only afterwards.
2. Coverage of the winner's interval, also if one candidate is far above all others or all are bad.
3. Share of an endpoint's concurrency that a search with default settings uses, at a latency of 200 ms and 256
   concurrent calls. It is measured over HTTP by wall clock, so other work on the machine lowers it.
4. The comparison of part 1 with real answers (`_field_real`): committees, cascades and routers of twenty
   published models, whose children share most answers with their parents.

In parts 1 to 3, an edit changes the accuracy a little, up as often as down. The last line is JSON. Keys that
end in ``_real`` are from part 4 with natural labels: ``reported_minus_true_real`` is the bias of the accuracy
reported from selection and confirmation items, ``tested_minus_true_real`` that of the accuracy on test items.

    python benchmarks/search_field.py [--quick] [--runs 160 --seed 1000]
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import sem

from benchmarks._field_ours import CLASSES, ITEMS, Found, Labels, lay_out, search_once
from benchmarks._field_real import RealTask, first_method
from benchmarks._field_rivals import SETTINGS, Picked, Trial
from benchmarks._field_task import FieldTask, write_method
from benchmarks._field_worlds import KINDS, REAL_ITEMS, WORLDS, draw_real, draw_world
from benchmarks._loopback import Behaviour, loopback
from benchmarks._options import read_options
from benchmarks._peers import run_peers
from benchmarks._study_files import call_command
from oversight.agents.search import Kind
from oversight.harness import FloatArray

K, START = 4, 0.44
GEPA = ("gepa==0.1.4", "numpy")
PROCESSES = 2

Searched = tuple[Found, Labels]
LATENCY, LIMIT = 0.2, 256
STUDY = """\
[study]
name = "A busy endpoint"

[items]
file = "items.jsonl"
classes = {classes}
shuffle = false

[models.small]
endpoint = "{url}"
model = "bench"
concurrency = {limit}

[search]
model = "small"
"""
_PART = re.compile(rb"\\n([A-Z ]+): (?:your |only [^:\\]*: ([^\\]+))")
_CASE = re.compile(rb"Case (\d+)")


def main() -> None:
    args = read_options(__doc__, {"--runs": (40, 10), "--seed": (0, 0), "--draws": (100, 16)})
    os.environ.setdefault("OPENAI_API_KEY", "none")
    started, kinds = time.perf_counter(), KINDS[:1] if args.quick else KINDS
    seeds = range(args.seed, args.seed + args.runs)
    fields: dict[str, dict[str, Any]] = {kind: compare(kind, seeds) for kind in kinds}
    covered = coverage(args.draws)
    used = float(np.median([measure_usage() for _ in range(1 if args.quick else 3)]))
    real = {kind: compare_real(kind, args.draws) for kind in kinds}
    names = ("ours", "random", "greedy", "aflow", "gepa", "best_rival", "reported_minus_true")
    result = {name: fields["natural"][name] for name in names}
    of_real = ("ours", "best_rival", "reported_minus_true", "tested_minus_true", "winner_coverage")
    result |= {f"{name}_real": real["natural"][name] for name in of_real}
    result["winner_coverage"] = min(covered.values())
    result["utilisation"] = round(used / LIMIT, 3)
    details = {"coverage": covered, "worlds": fields, "real": real}
    print(json.dumps(result | details | {"seconds": round(time.perf_counter() - started)}))


def compare(kind: str, seeds: range) -> dict[str, Any]:
    """Run part 1 with one kind of labels: compare the true accuracies of our and the rivals' winners."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        searched = list(pool.map(partial(search_once, kind=kind, K=K, start=START), seeds))
    print(f"{kind} labels: {len(searched)} searches from {100 * START:.0f} %; true accuracy")
    worlds = [FieldTask(K, ITEMS, seed) for seed in seeds]
    return _hold_against_rivals(searched, worlds, write_method(START, 0))


def compare_real(kind: Kind, draws: int) -> dict[str, Any]:
    """Run part 4 with one kind of labels: compare with rivals, and measure the bias of test results."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        found = list(pool.map(partial(draw_real, kind), range(draws)))
    print(f"{kind} labels, real answers: {draws} searches; true accuracy")
    worlds = [RealTask(REAL_ITEMS, seed) for seed in range(draws)]
    field = _hold_against_rivals([run[:2] for run in found], worlds, first_method())
    tested = np.array([test - run.true for run, _, test in found])
    print(f"   the sealed test of ours reports {_gap(tested)}")
    return field | {"tested_minus_true": round(float(tested.mean()), 4)}


def _hold_against_rivals(
    searched: Sequence[Searched], worlds: Sequence[FieldTask | RealTask], start: str
) -> dict[str, Any]:
    """Run all rivals, and print every comparison. Returns our lead over the best setting of each rival."""
    ours = np.array([found.true for found, _ in searched])
    bias = np.array([found.reported for found, _ in searched]) - ours
    held = float(np.mean([found.low <= found.true <= found.high for found, _ in searched]))
    edits = float(np.mean([found.edits for found, _ in searched]))
    calls = float(np.mean([found.calls for found, _ in searched]))
    print(
        f"   {'ours':7} {'':44} {_points(ours)}  reported {_gap(bias)}  {edits:3.0f} edits"
        f"  interval holds {held:.3f}  {calls:,.0f} calls"
    )
    tried = defaultdict[str, dict[str, FloatArray]](dict)
    with ProcessPoolExecutor(PROCESSES) as pool:
        jobs = {
            (rival, name): pool.submit(_rival, searched, worlds, start, *how)
            for rival, settings in SETTINGS.items()
            for name, how in settings.items()
        }
        for (rival, name), job in jobs.items():
            tried[rival][name] = job.result()
    tried["gepa"] = _gepa(searched, worlds, start)
    field: dict[str, Any] = {"ours": round(float(ours.mean()), 4)}
    leads: dict[str, Any] = {}
    for rival, settings in tried.items():
        best = max(settings, key=lambda name: float(settings[name][:, 0].mean()), default=None)
        for name, rows in settings.items():
            print(
                f"   {rival:7} {name:44} {_points(rows[:, 0])}  reported {_gap(rows[:, 1] - rows[:, 0])}"
                f"  {rows[:, 2].mean():3.0f} edits  ours leads by {_gap(ours - rows[:, 0])}"
                f"{'  best' if name == best else ''}"
            )
        field[rival] = leads[rival] = None
        if best is not None:
            lead = ours - settings[best][:, 0]
            field[rival] = round(float(settings[best][:, 0].mean()), 4)
            leads[rival] = [round(float(lead.mean()), 4), round(float(sem(lead)), 4)]
    return field | {
        "best_rival": max(field[rival] for rival in tried if field[rival] is not None),
        "reported_minus_true": round(float(bias.mean()), 4),
        "reported_se": round(float(sem(bias)), 4),
        "winner_coverage": round(held, 4),
        "leads": leads,
        "calls": round(calls),
    }


def _rival(
    searched: Sequence[Searched],
    worlds: Sequence[FieldTask | RealTask],
    start: str,
    rule: Callable[[Trial], Picked],
    given: dict[str, Any],
) -> FloatArray:
    """Run the rival method `rule` once per world. Returns its results, one row per world."""
    rows = []
    for world, (found, labels) in zip(worlds, searched, strict=True):
        rng = np.random.default_rng([world.seed, 7])
        rows.append(rule(Trial(world, labels, found.calls, start, rng, **given)))
    return np.array(rows)


def _gepa(
    searched: Sequence[Searched], worlds: Sequence[FieldTask | RealTask], start: str
) -> dict[str, FloatArray]:
    """Return gepa's results by setting; empty if gepa cannot be installed on this machine."""
    runs = []
    for world, (found, labels) in zip(worlds, searched, strict=True):
        run = {"seed": world.seed, "is_real": isinstance(world, RealTask), "K": world.K, "items": world.n}
        answers = {name: getattr(labels, name).tolist() for name in ("rows", "truth", "refused")}
        runs.append(run | answers | {"start": start, "calls": found.calls, "sizes": labels.sizes})
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "runs.json"
        path.write_text(json.dumps(runs), encoding="utf-8")
        made = run_peers("_field_gepa.py", GEPA, path)
    return {name: np.array(rows) for name, rows in made.items()}


def coverage(draws: int) -> dict[str, float]:
    """Run part 2. Returns the coverage of winners' intervals by world, over both kinds of labels."""
    print(f"the winner's interval of about 95 %, {draws} searches of each kind of labels")
    covered = {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        for world in WORLDS:
            held: list[bool] = []
            for kind in KINDS:
                found = list(pool.map(partial(draw_world, world, kind), range(draws)))
                true = np.array([f.true for f in found])
                reported = np.array([f.reported for f in found])
                holds = [f.low <= f.true <= f.high for f in found]
                print(
                    f"   {world:16} {kind:13} holds {np.mean(holds):.3f}  true {_points(true)}  "
                    f"reported {_gap(reported - true)}"
                )
                held += holds
            covered[world] = round(float(np.mean(held)), 4)
    return covered


def _reply(body: bytes) -> str:
    """Return a reply with one line for every answer part that the request asks for.

    If a part has options, the item's number determines which one is chosen. A part without options gets a
    fixed word.
    """
    cases = _CASE.findall(body)
    number = int(cases[-1]) if cases else 0
    lines = []
    for name, only in _PART.findall(body):
        options = only.decode().split(", ") if only else ["words"]
        lines.append(f"{name.decode()}: {options[number % len(options)]}")
    return "\n".join(lines)


def measure_usage() -> float:
    """Run a search with default settings. Returns the mean number of concurrent calls, and prints it."""
    with tempfile.TemporaryDirectory() as scratch, loopback(Behaviour(LATENCY, say=_reply)) as server:
        folder, task = Path(scratch), FieldTask(4, ITEMS, 0)
        task.truth = np.random.default_rng(0).integers(4, size=ITEMS)
        lay_out(folder, task, STUDY.format(classes=json.dumps(CLASSES[:4]), url=server.url, limit=LIMIT))
        call_command(folder, "search", "start")
        seconds = server.seen.last_reply - server.seen.first
        used = float(server.seen.waited / seconds)
        print(f"{used:.0f} of {LIMIT} concurrent calls, {server.seen.calls:,} calls in {seconds:.1f} s")
        return used


def _points(values: FloatArray) -> str:
    return f"{100 * values.mean():5.1f} ± {100 * sem(values):.1f}"


def _gap(values: FloatArray) -> str:
    return f"{100 * values.mean():+5.1f} ± {100 * sem(values):.1f}"


if __name__ == "__main__":
    main()
