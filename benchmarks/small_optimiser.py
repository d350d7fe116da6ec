"""A real small instruction model as a search's optimiser: which of its proposals are programs that run.

SmolLM2-135M-Instruct, under its own chat template and with its whole context of 8,192 tokens, is told what
every optimiser is told, and writes programs by each policy that asks a model; the same model, as it is served
to studies, answers titles of medical abstracts with what runs. The last line is JSON.

    python benchmarks/small_optimiser.py [--quick] [--proposals 12]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.search_real import FOLDER, call, lay_out
from oversight.agents.search import prepare_search, report_search
from oversight.harness.config import read_study
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model
from oversight.harness.llm.local.weights import find_weights
from oversight.harness.report import SearchReport
from oversight.harness.store import Store

POLICIES = ("reflect", "aflow", "adas")
CONTEXT, REPLY = 8192, 400  # a program of the library takes 200 tokens
WRITER = """
[models.writer]
endpoint = "{url}"
model = "writer"
concurrency = 1
timeout = 600
"""
SEARCH = """\
[search]
policy = "{policy}"
model = "small"
optimiser = "writer"
optimiser_tokens = {tokens}
task = "Titles of medical abstracts; which topic?"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="two proposals by one policy")
    parser.add_argument("--proposals", type=int, default=12, help="of each policy")
    args = parser.parse_args()
    if not (FOLDER / "medical_abstracts_test.csv.gz").exists():
        sys.exit(f"{FOLDER / 'medical_abstracts_test.csv.gz'} is not there; set OVERSIGHT_DATASETS")
    policies, proposals = (POLICIES[:1], 2) if args.quick else (POLICIES, args.proposals)
    with solver(), writer() as url, tempfile.TemporaryDirectory() as scratch:
        found = {policy: one(Path(scratch, policy), policy, url, proposals) for policy in policies}
    print(json.dumps(found))


@contextmanager
def solver() -> Iterator[None]:
    """The local model as studies have it, begun here if it is not running."""
    running = find_local_model()
    start_local_model() if running is None else None
    try:
        yield
    finally:
        if running is None:
            stop_local_model()


@contextmanager
def writer() -> Iterator[str]:
    """The same weights as an instruction model: its own chat template, all of its context."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(find_weights())
    params.model_alias = {"writer"}
    params.port = 0
    params.n_parallel, params.n_ctx = 1, CONTEXT
    params.verbosity = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server  # ends it


def one(folder: Path, policy: str, url: str, proposals: int) -> dict[str, Any]:
    """Search by one policy, and count what became of the proposals."""
    lay_out(folder, quick=True)
    file = folder / "study.toml"
    before, _, search = file.read_text(encoding="utf-8").partition("[search]\n")
    search = search.replace("candidates = 2", f"candidates = {proposals}").replace(
        "in_flight = 4", "in_flight = 1"
    )
    own = SEARCH.format(policy=policy, tokens=REPLY)
    file.write_text(before + WRITER.format(url=url).lstrip() + "\n" + own + search, encoding="utf-8")
    began = time.perf_counter()
    call(folder, "search", "start", "--seed", "0")
    study = read_study(file)
    with Store(study.store_url) as store:
        report = report_search(study, store, prepare_search(study, store, 0, study.search))
    return show(policy, report, time.perf_counter() - began)


def show(policy: str, report: SearchReport, seconds: float) -> dict[str, Any]:
    ran = [c for c in report.candidates if c.slot >= 0 and c.op == policy]
    print(
        f"{policy}: {report.proposals} proposals in {seconds / 60:.0f} min, {len(ran)} programs that run, "
        f"{report.duplicates} of before, {len(report.refused)} refused:"
    )
    for reason, times in Counter(reason.split(": ", 1)[-1][:160] for reason in report.refused).most_common():
        print(f"  {times} times: {reason}")
    return {
        "proposals": report.proposals,
        "run": len(ran),
        "duplicates": report.duplicates,
        "refused": len(report.refused),
        "winner": report.winner.id if report.winner else None,
    }


if __name__ == "__main__":
    main()
