"""A sandbox's process holds no key, label, file or socket while a program waits in it."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from pathlib import Path

import pytest

from oversight.agents.programs import load_program
from oversight.agents.runtime import Broker, Workbench, answer_items
from oversight.agents.sandbox import TIERS, open_sandbox
from oversight.harness import OversightError
from oversight.harness.llm import Request
from oversight.harness.types import Item
from tests.agents.helpers import FREE, ROLES
from tests.agents.scripted import Scripted, obliging

KEY = "sk-bait-8f1d"
ITEM = Item("secret-id-77", "What is it?", ("red", "green"), (1, 0), {"truth": "label-in-meta-55"})


def workers() -> list[int]:
    """All processes below this one."""
    found: list[int] = []
    left = [os.getpid()]
    while left:
        tasks = Path(f"/proc/{left.pop()}/task").glob("*/children")
        children = [int(pid) for task in tasks for pid in task.read_text().split()]
        found, left = found + children, left + children
    return found


def memory(pid: int) -> bytes:
    """All that a process has mapped and could write to."""
    parts = []
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    with Path(f"/proc/{pid}/mem").open("rb") as file:
        for low, high, rights in re.findall(r"^(\w+)-(\w+) (\S+)", "\n".join(maps), re.MULTILINE):
            if rights.startswith("rw"):
                file.seek(int(low, 16))
                parts.append(file.read(int(high, 16) - int(low, 16)))
    return b"".join(parts)


@pytest.mark.parametrize("tier", TIERS)
def test_no_key_label_or_descriptor_is_in_the_worker(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/mem").exists():
        pytest.skip("no /proc to look a process up in")
    monkeypatch.setenv("OVERSIGHT_BAIT", KEY)
    seen: dict[int, bytes] = {}
    wires: list[str] = []
    forbidden = [__file__]

    def say(request: Request) -> str:
        for pid in workers():
            if tier != "bubblewrap" or Path(f"/proc/{pid}/comm").read_text() != "bwrap\n":
                seen[pid] = memory(pid) + Path(f"/proc/{pid}/environ").read_bytes()
                wires.extend(
                    str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.name not in "012"
                )
        return obliging(request)

    async def run(sandbox_tier: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            forbidden.append(f"socket:[{os.fstat(listener.fileno()).st_ino}]")
            async with open_sandbox(sandbox_tier) as sandbox:
                broker = Broker(Scripted(say), "m", budget=FREE)
                await answer_items(load_program("cot"), [ITEM], Workbench(broker, sandbox, ROLES))

    try:
        with Path(__file__).open():  # an open file, as the process has with a database
            asyncio.run(run(tier))
    except OversightError as error:
        pytest.skip(f"the tier {tier} does not work here: {error}")
    # the test searched the memory of the right process
    assert any(b"What is it?" in held for held in seen.values())
    for secret in (KEY, "secret-id-77", "label-in-meta-55"):
        assert not [pid for pid, held in seen.items() if secret.encode() in held]
    assert not set(wires) & set(forbidden)
