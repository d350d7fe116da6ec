"""Resource limits of programs hold on every tier, and a program that exceeds one fails only its own item."""

from __future__ import annotations

import ast
import asyncio
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from oversight.agents.runtime import Broker, Workbench
from oversight.agents.runtime.host import WorkflowHost
from oversight.agents.sandbox import TIERS, ProgramOutcome, open_sandbox
from oversight.agents.sandbox.base import DEFAULT_LIMITS, SandboxLimits
from oversight.agents.sandbox.cpython import longest_line
from oversight.agents.sandbox.gate import check_program
from oversight.agents.search.fitness.archive import load_archive
from oversight.agents.search.item_splits import draw_splits
from oversight.harness import OversightError, ProgramRefused, StoreError
from oversight.harness.config import SearchSection
from oversight.harness.store import Store
from oversight.harness.types import (
    Candidate,
    Item,
    Label,
    LabelDesign,
    LabelKind,
    Labels,
    PredictionStatus,
    Program,
)
from tests.agents.helpers import FREE, an_item, answer
from tests.agents.scripted import Scripted
from tests.agents.simulated_search import World
from tests.agents.test_search_loop import run

pytestmark = pytest.mark.slow

WITH_PYTHON = tuple(tier for tier in TIERS if tier != "monty")
"""Tiers on which CPython runs the program."""
GREEDY = {
    "the task many times": 'await task.ask(["n"], [task] * 20000)',
    "fields": 'await task.ask(["n" * 300000], [task])',
    "choices": 'await task.ask(["n"], [task], choices={"n": [str(j) * 9 for j in range(20000)]})',
    "an author": 'await task.ask(["n"], [Record("f", "c", "a" * 300000)])',
    "empty blocks": 'await task.ask(["n"], [Record("", "") for _ in range(20000)])',
}


@pytest.fixture
def tier(request: pytest.FixtureRequest) -> str:
    """A tier's name; a test of one that does not work on this machine is skipped, with the reason."""
    name = str(request.param)

    async def start() -> None:
        async with open_sandbox(name):
            pass

    try:
        asyncio.run(start())
    except OversightError as error:
        pytest.skip(f"the tier {name} does not work here: {error}")
    return name


@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize("body", GREEDY.values(), ids=GREEDY)
def test_limit_applies_to_all_text_of_a_call(body: str, tier: str) -> None:
    model = Scripted()
    [found] = answer(f"async def forward(task):\n    {body}\n    return 'A'\n", model, tier=tier)
    assert found.status is PredictionStatus.UNREADABLE
    assert "a call may contain at most 200,000 characters" in found.reason
    assert not model.requests


@pytest.mark.parametrize("tier", TIERS, indirect=True)
@pytest.mark.parametrize(
    "part", ['Record("x", "y", "z", 10**5000)', 'Record("x", "y", "z", -(10**9))'], ids=["huge", "large"]
)
def test_a_number_that_cannot_be_worded_costs_one_item(part: str, tier: str) -> None:
    source = f"""
async def forward(task):
    extra = [{part}] if "i1" in task.text else []
    return (await task.ask(["answer"], [task, *extra]))[0]
"""
    found = answer(source, items=[an_item(name=f"i{j}") for j in range(3)], tier=tier)
    assert [p.status for p in found] == ["ok", "unreadable", "ok"]


async def past_the_gate(source: str, limits: SandboxLimits, tier: str) -> list[ProgramOutcome]:
    """Run on a tier with CPython what no gate would let pass."""
    async with open_sandbox(tier, limits) as sandbox:
        host = WorkflowHost([an_item()], Workbench(Broker(Scripted(), "m", budget=FREE), sandbox))
        return await sandbox.run_tree(ast.parse(source), host.payloads(), host)


OS = """
def find(name):
    for cls in ().__class__.__base__.__subclasses__():
        if cls.__name__ == "_wrap_close":
            return cls.__init__.__globals__["sys"].modules[name]


"""


@pytest.mark.parametrize("tier", WITH_PYTHON, indirect=True)
def test_a_frame_that_is_too_long_is_never_parsed(tier: str) -> None:
    source = (
        OS
        + """
async def forward(task):
    posix = find("posix")
    data = b'{"done":[' + b"{}," * 20_000_000 + b"{}]}\\n"
    while data:
        data = data[posix.write(3, data[:65536]):]
"""
    )
    tracemalloc.start()
    [found] = asyncio.run(
        past_the_gate(source, replace(DEFAULT_LIMITS, seconds=20.0, memory=256 << 20), tier)
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.answer is None
    assert "not a message" in found.reason
    assert longest_line(DEFAULT_LIMITS) < 3 << 20
    assert peak < 30 << 20


@pytest.mark.parametrize("tier", WITH_PYTHON, indirect=True)
def test_forged_extra_answers_are_ignored(tier: str) -> None:
    source = (
        OS
        + """
async def forward(task):
    posix = find("posix")
    for _ in range(3):
        posix.write(3, b'{"answer": ["A", ""]}\\n')
    return "B"
"""
    )
    [found] = asyncio.run(past_the_gate(source, DEFAULT_LIMITS, tier))
    assert found.answer is None or found.answer in "AB"


@pytest.mark.parametrize("tier", WITH_PYTHON, indirect=True)
def test_waiting_just_below_the_idle_limit_ends_at_the_total_limit(tier: str) -> None:
    source = (
        OS
        + """
async def forward(task):
    lock = find("_thread").allocate_lock()
    lock.acquire()
    while True:
        lock.acquire(timeout=0.2)
        await task.ask(["answer"], [task])
"""
    )
    limits = replace(DEFAULT_LIMITS, idle=1.0, total=1.0, calls=1000)
    [found] = asyncio.run(past_the_gate(source, limits, tier))
    assert found.answer is None
    assert "the program ran longer than 1 s, not counting its calls" in found.reason


@pytest.mark.parametrize("tier", TIERS, indirect=True)
def test_computing_between_sleeps_ends_at_the_total_limit(tier: str) -> None:
    source = """
async def forward(task):
    while True:
        for _ in range(1000):
            pass
        await asyncio.sleep(0)
"""
    limits = replace(DEFAULT_LIMITS, total=0.5)
    [found] = answer(source, tier=tier, limits=limits)
    assert found.status is PredictionStatus.UNREADABLE
    assert found.reason


@pytest.mark.parametrize("term", ["1", "'a'"])
def test_sum_that_is_nested_too_deeply_is_refused(term: str) -> None:
    source = f"X = {' + '.join([term] * 950)}\n\n\nasync def forward(task):\n    return 'A'\n"
    with pytest.raises(ProgramRefused, match="nested deeper"):
        check_program(Program("pill", source))


def test_newly_refused_program_does_not_stop_a_search() -> None:
    world = World(select=30, section=SearchSection(rungs=[30], keep=[], candidates=0))
    state = world.state
    pill = Program("pill", f"X = {' + '.join('1' * 950)}\n\n\nasync def forward(task):\n    return 'A'\n")
    state.archive.add_candidate(Candidate(pill, -1, "library", (), ""))

    async def refuse(program: Program, items: tuple[Item, ...], run_: int) -> object:
        check_program(program)
        return await world.evaluate(program, items, run_)

    world.state = replace(state, evaluate=refuse)  # type: ignore[arg-type]
    asyncio.run(world.state.answer(pill.id, state.items("select")))
    run(world)
    found = state.archive.table.predictions(pill.id, state.items("select"))
    assert {p.status for p in found} == {PredictionStatus.UNREADABLE}
    assert world.state.board().standing(pill.id).value <= 0


def test_source_that_was_changed_in_the_database_is_refused(tmp_path: Path) -> None:
    world = World(select=10)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with Store(url) as store:
        store.content.add_items(world.task.items)
        store.searches.add_search("s", {}, {"select": [i.id for i in world.task.items]})
        store.searches.add_candidate("s", Candidate(world.library[0], -1, "library", (), ""))
        load_archive(store, "s")
    with sa.create_engine(url).begin() as connection:
        connection.execute(sa.text("UPDATE candidate SET source = source || '# more'"))
    with Store(url) as store, pytest.raises(StoreError, match="was changed, so its stored answers"):
        load_archive(store, "s")


def test_items_with_equal_texts_are_in_one_split() -> None:
    texts = [(f"text {j // 3}.", f"Text  {j // 3}.", f" TEXT {j // 3}.")[j % 3] for j in range(90)]
    items = [Item(f"i{j}", text, ("a", "b"), (0, 1)) for j, text in enumerate(texts)]
    said = [Label(i.id, 0, LabelKind.COMPLEMENTARY, 2, 0.5) for i in items]
    labels = Labels(said, LabelDesign(statements=(), asked=frozenset()))
    shares = {"feedback": 0.3, "select": 0.4, "confirm": 0.1, "test": 0.2}
    splits = draw_splits(items, labels, shares, 1, [10, 60])
    where = {item.text.casefold().split()[1]: name for name, part in splits.items() for item in part}
    assert sum(map(len, splits.values())) > 80
    for name, part in splits.items():
        assert {where[item.text.casefold().split()[1]] for item in part} == {name}
