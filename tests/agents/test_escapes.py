"""Every attack, on every tier that this machine has: at the gate, and past it against the tier alone."""

from __future__ import annotations

import ast
import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oversight.agents.programs import PromptFormat
from oversight.agents.runtime import Broker, Workbench
from oversight.agents.runtime.host import WorkflowHost
from oversight.agents.sandbox import TIERS, ProgramOutcome, open_sandbox
from oversight.agents.sandbox.base import SandboxLimits
from oversight.agents.sandbox.gate import check_program
from oversight.harness import OversightError, ProgramRefused
from oversight.harness.llm import Budget
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Program, Question, Verdict
from tests.agents.attacks import ATTACKS
from tests.agents.scripted import Scripted

pytestmark = pytest.mark.slow

KEY = "sk-canary-0123456789"
LIMITS = SandboxLimits(seconds=0.2, memory=64 << 20, calls=8, idle=0.5, characters=100_000)
ITEM = Item("i0", "What is it?", ("red", "green"), (1, 0))
SEEN_BY_THE_GATE = {
    *(
        "answer-flood",
        "call-flood",
        "format-walk",
        "loop",
        "loop-that-catches",
        "memory-bytes",
        "memory-list",
    ),
    *("memory-number", "memory-text", "other-task", "negative-task", "print-flood", "recursion", "regex"),
    *("sleep-async", "task-labels", "wild-call", "code-not-allowed"),
}
"""Attacks that the gate lets pass, since they are made of what any program may use."""


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("traps")
    folder.chmod(0o755)
    (folder / "canary").write_text("secret")
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        store.content.add_items([ITEM])
        question = Question("q", "i0", 0, "ada", 2, "partitioned", 0.5, 1)
        store.content.add_questions([question])
        store.content.add_answers([Answer(question, "ada", Verdict.NO, "test")])
    os.environ["OVERSIGHT_BAIT"] = KEY
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield {
            "CANARY": str(folder / "canary"),
            "OUT": str(folder / "out"),
            "PORT": str(listener.getsockname()[1]),
            "HOST": str(os.getpid()),
            "DATABASE": str(folder / "study.db"),
        }
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    del os.environ["OVERSIGHT_BAIT"]


def armed(name: str, traps: dict[str, str]) -> str:
    source = ATTACKS[name]
    for mark, value in traps.items():
        source = source.replace(mark, value)
    return source


@pytest.mark.parametrize("name", ATTACKS)
def test_the_gate_refuses_what_no_workflow_needs(name: str, traps: dict[str, str]) -> None:
    program = Program(name, armed(name, traps))
    if name in SEEN_BY_THE_GATE:
        check_program(program)
    else:
        with pytest.raises(ProgramRefused, match=name):
            check_program(program)


def test_attacks_work_without_a_sandbox(traps: dict[str, str]) -> None:
    names = ["open", "listdir", "environ", "proc-self-environ", "proc-maps", "subprocess", "subclasses"]
    names += ["sys-modules", "frame-of-error", "ctypes-socket", "pickle", "unix-socket", "database"]
    for name in names:
        script = f"{armed(name, traps)}\nimport asyncio\nprint(asyncio.run(forward(None)))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert "LOOT" in done.stdout, name


@pytest.mark.parametrize("tier", TIERS)
def test_no_attack_gets_out_of_a_tier(tier: str, traps: dict[str, str]) -> None:
    try:
        outcomes = asyncio.run(attack(tier, traps))
    except OversightError as error:
        pytest.skip(f"the tier {tier} does not work here: {error}")
    assert len(outcomes) >= 60
    escaped = {name: o.answer for name, o in outcomes.items() if o.answer and "LOOT" in o.answer}
    assert not escaped
    assert not Path(traps["OUT"]).exists()


async def attack(tier: str, traps: dict[str, str]) -> dict[str, ProgramOutcome]:
    """Run every attack past the gate; after each, the sandbox must still serve a decent program."""
    decent = ast.parse("async def forward(task):\n    return task.text\n")
    outcomes = {}
    async with open_sandbox(tier, LIMITS) as sandbox:
        for name in ATTACKS:
            broker = Broker(Scripted(), "scripted", budget=Budget(None, None, None))
            desk = WorkflowHost([ITEM], Workbench(broker, sandbox, (), PromptFormat()))
            (outcomes[name],) = await sandbox.run_tree(ast.parse(armed(name, traps)), desk.payloads(), desk)
            assert broker.spent.calls <= LIMITS.calls
            (alive,) = await sandbox.run_tree(decent, desk.payloads(), desk)
            assert alive == ProgramOutcome(ITEM.text), name
    return outcomes
