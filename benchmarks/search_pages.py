"""Measure the pages of a search with a thousand candidates, and the loop's own CPU time.

A finished search is written into a study's database through the store; every candidate has an answer to
every selection item. Each command runs in a separate process. Then a whole search uses simulated answers,
and the CPU time of everything else is measured: views, ranking and races of a slot.

    python benchmarks/search_pages.py [--quick] [--candidates 1000] [--items 500]

The last line is JSON: CPU seconds, wall-clock seconds and peak megabytes of each command (``help`` measures
the start-up of any command); seconds of the viewer's pages after its server has started; bytes of the page;
and CPU milliseconds per slot of the loop, on average and over its last fifth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._made_search import SEARCH, MadeSize, make_search, source_of
from benchmarks._simulated_search import FreshDraws, World
from benchmarks.servers import serve
from oversight.agents.search import search
from oversight.agents.search.policies import PolicyView, Proposal
from oversight.harness.config import SearchSection
from oversight.harness.types import Item, Prediction, Program

PAGE = "search.html"
COMMANDS = {
    "help": ("search", "--help"),
    "show": ("search", "show"),
    "json": ("search", "show", "--json"),
    "page": ("search", "show", "--page", PAGE),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="200 candidates")
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--items", type=int, default=500)
    args = parser.parse_args()
    number = args.candidates or (200 if args.quick else 1_000)
    found: dict[str, Any] = {"candidates": number, "items": args.items}
    with tempfile.TemporaryDirectory(prefix="oversight-pages") as made:
        folder = Path(made)
        make_search(folder, number, size=size_of(args.items))
        print(f"{number:,} candidates x {args.items} items (load {os.getloadavg()[0]:.1f})", flush=True)
        for name, words in COMMANDS.items():
            found[name] = run(words, folder)
            print(
                f"{found[name]['cpu']:7.2f} CPU s {found[name]['wall']:7.2f} s  {' '.join(words)}", flush=True
            )
        found["page_bytes"] = (folder / PAGE).stat().st_size
        found["viewer"] = ask_viewer(folder)
    found["loop"] = measure_loop(number, args.items)
    print(json.dumps(found))


def size_of(items: int) -> MadeSize:
    """All candidates answer all selection items."""
    return MadeSize(
        splits={"feedback": 20, "select": items, "confirm": 60, "test": 60}, rungs=(items,), ends=(1.0,)
    )


def run(words: Sequence[str], folder: Path) -> dict[str, float]:
    """CPU seconds, wall-clock seconds and peak megabytes of a command."""
    timer = str(Path(__file__).parent / "_timed_command.py")
    command = [sys.executable, timer, "600", sys.executable, "-m", "oversight.harness.cli.main", *words]
    told = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603  a benchmark's own
    took = json.loads(told.stdout.splitlines()[-1])
    assert took["code"] == 0, told.stderr
    return {"cpu": round(took["cpu"], 2), "wall": round(took["wall"], 2), "mb": round(took["mb"])}


def ask_viewer(folder: Path) -> dict[str, float]:
    """Seconds of the requests that the page of a search makes, and the server's peak memory."""
    candidate = Program("", source_of(7)).id
    with serve(folder) as served:
        asked: dict[str, tuple[str, dict[str, str]]] = {
            "search": ("search", {}),
            "candidate": ("candidate", {"id": candidate, "search": SEARCH}),
            "behind": ("candidate", {"id": candidate, "search": SEARCH, "after": "400"}),
        }
        found = {}
        for name, (part, params) in asked.items():
            begun = time.perf_counter()
            served.read(part, **params)
            found[name] = round(time.perf_counter() - begun, 2)
            print(f"              {found[name]:7.2f} s  the viewer's {name}", flush=True)
        status = Path(f"/proc/{served.process.pid}/status")
        if status.exists():
            line = next(x for x in status.read_text(encoding="ascii").splitlines() if x.startswith("VmHWM"))
            found["mb"] = round(int(line.split()[1]) / 1024)
    return found


def measure_loop(candidates: int, items: int) -> dict[str, float]:
    """CPU milliseconds per slot of a search without its answers, which are simulated."""
    world = World(select=items, section=SearchSection(candidates=candidates - 7))
    answering, begun = [0.0], dict[int, float]()
    plain = world.state.evaluate

    async def evaluate(program: Program, asked: Sequence[Item], run_: int) -> Sequence[Prediction]:
        start = time.process_time()
        found = await plain(program, asked, run_)
        answering[0] += time.process_time() - start
        return found

    class Watched(FreshDraws):
        async def propose(self, view: PolicyView) -> Proposal:
            begun[view.slot] = time.process_time() - answering[0]
            return await super().propose(view)

    from dataclasses import replace

    asyncio.run(search(replace(world.state, evaluate=evaluate), Watched(world.task)))
    end, last = time.process_time() - answering[0], max(begun) - max(1, len(begun) // 5) + 1
    found = {
        "total_s": round(end - begun[0], 1),
        "slot_ms": round(1000 * (end - begun[0]) / len(begun), 1),
        "last_ms": round(1000 * (end - begun[last]) / (len(begun) - last), 1),
    }
    print(
        f"{found['total_s']:7.2f} CPU s            the loop, {found['slot_ms']} ms a slot, at its end "
        f"{found['last_ms']}"
    )
    return found


if __name__ == "__main__":
    main()
