"""What sandbox and broker cost beside the calls, and what each tier runs of a corpus of workflows.

The model answers at once, so all that is measured is what happens around it: the gate, the session,
the crossing of each call, the cache in a database, the reading of replies. 256 items in sessions of
64, 64 calls at once. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from oversight.agents.programs import NAMES, Role, load_program
from oversight.agents.runtime import Broker, Workbench, answer_items, dry_run_program
from oversight.agents.sandbox import TIERS, Sandbox, open_sandbox
from oversight.harness import ConfigError, ProgramRefused, SandboxError
from oversight.harness.llm import Budget
from oversight.harness.store import Store
from oversight.harness.types import Item, PredictionStatus, Program
from tests.agents.corpus import CORPUS
from tests.agents.scripted import Scripted

ROLES = (Role("chemist", "You are a chemist."), Role("generalist", "You are a generalist."))
ITEMS = [Item(f"i{n}", f"What is {n}?", ("red", "green", "blue"), (2, 0, 1)) for n in range(256)]
TARGET_MS = 2.0


async def cost(sandbox: Sandbox, workflow: str, store: Store) -> tuple[float, float]:
    """Run a workflow once over all items; return milliseconds per item and calls per item."""
    model = Scripted()
    # A new name is a new model to the cache: nothing is found there.
    name = f"scripted {time.perf_counter_ns()}"
    broker = Broker(model, name, budget=Budget(None, None, None), store=store, concurrency=64)
    started = time.perf_counter()
    predictions = await answer_items(load_program(workflow), ITEMS, Workbench(broker, sandbox, ROLES))
    ms = (time.perf_counter() - started) * 1000
    assert all(p.status is PredictionStatus.OK for p in predictions)
    return ms / len(ITEMS), len(model.requests) / len(ITEMS)


async def overheads(sandbox: Sandbox, repeats: int, workflows: tuple[str, ...]) -> dict[str, float]:
    """Milliseconds per item of each workflow (the best of several runs), printed with its calls."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{Path(folder) / 's.db'}") as store:
        await cost(sandbox, "cot", store)  # what is imported and prepared once
        for workflow in workflows:
            runs = [await cost(sandbox, workflow, store) for _ in range(repeats)]
            ms, calls = min(runs)
            found[workflow] = round(ms, 3)
            print(f"    {workflow:<18} {calls:>4.0f} calls  {ms:>6.2f} ms/item  {ms / calls:>5.2f} ms/call")
    return found


async def language(sandbox: Sandbox) -> int:
    """Number of workflows of the corpus that pass the smoke run; the others are printed."""
    works = 0
    for name, source in CORPUS.items():
        try:
            await dry_run_program(Program(name, source), sandbox=sandbox, roles=ROLES)
            works += 1
        except ProgramRefused as refused:
            print(f"    not: {str(refused).split(': ', 1)[1]} ({name})")
    print(f"    runs {works} of {len(CORPUS)} workflows of the corpus")
    return works


async def measure(*, quick: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"benchmark": "sandbox", "corpus": len(CORPUS), "tiers": {}}
    for tier in TIERS:
        try:
            async with open_sandbox(tier) as sandbox:
                print(f"{tier}: {sandbox.layers}")
                works = await language(sandbox)
                ms = await overheads(sandbox, 3 if quick else 5, NAMES[:2] if quick else NAMES)
        except (ConfigError, SandboxError) as error:
            print(f"{tier}: not here ({error})")
            continue
        result["tiers"][tier] = {"runs": works, "ms_per_item": ms}
    result["ms_per_item"] = max(result["tiers"]["monty"]["ms_per_item"].values())  # of the worst workflow
    result["target_met"] = result["ms_per_item"] <= TARGET_MS
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    print(json.dumps(asyncio.run(measure(quick=parser.parse_args().quick))))


if __name__ == "__main__":
    main()
