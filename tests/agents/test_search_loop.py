"""The loop: resumed it makes the same archive, the budget ends it, refusals and repeats are noted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oversight.agents.programs import NAMES, load_program
from oversight.agents.search import Archive, SearchContext, confirm_finalists, search
from oversight.agents.search.confirmation import decide
from oversight.agents.search.fitness.archive import load_archive
from oversight.agents.search.launch import find_quotation
from oversight.agents.search.loop import Ended
from oversight.agents.search.policies.proposal import PolicyView, Proposal
from oversight.agents.search.policies.recombine import Recombine, read_wordings
from oversight.harness import BudgetSpent, StoreError
from oversight.harness.config import SearchSection
from oversight.harness.store import Store
from oversight.harness.types import Candidate, Item, Prediction, PredictionStatus, Program
from tests.agents.simulated_search import FreshDraws, Steps, World


def run(world: World) -> Ended:
    ended = asyncio.run(search(world.state, Steps(world.task)))
    asyncio.run(confirm_finalists(world.state))
    return ended


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


@pytest.mark.parametrize("after", [0, 3, 9, 15, 19, 24])
def test_a_search_that_was_cut_off_anywhere_goes_on_to_the_same_archive(after: int, tmp_path: Path) -> None:
    whole = World(seed=2, confirm=40)
    run(whole)
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        first = World(seed=2, confirm=40)
        store.content.add_items(first.task.items)
        splits = {name: [i.id for i in part] for name, part in first.state.archive.splits.items()}
        store.searches.add_search("s", {}, splits)
        asked: Counter[tuple[str, str, int]] = Counter()
        for limit in (after, None):
            world = World(seed=2, confirm=40)
            world.task = first.task  # use the same true accuracies after a restart
            archive = load_archive(store, "s")
            calls = 0

            async def evaluate(program: Program, items: Sequence[Item], run_: int) -> list[Prediction]:
                nonlocal calls
                if calls == limit:  # noqa: B023  used at once
                    raise Killed
                calls += 1
                asked.update((program.id, item.id, run_) for item in items)
                return await world.task.evaluate(program, items, run_)  # noqa: B023  used at once

            world.state = replace(world.state, archive=archive, evaluate=evaluate)
            if limit is None:
                run(world)
            else:
                with pytest.raises(Killed):
                    run(world)
        assert load_archive(store, "s").digest() == whole.state.archive.digest()
        assert max(asked.values()) == 1


def test_more_proposals_in_flight_see_the_same_archive() -> None:
    world = World(section=SearchSection(candidates=6, in_flight=3))
    seen: list[tuple[int, int]] = []

    class Looking(Steps):
        async def propose(self, view: PolicyView) -> Proposal:
            seen.append((view.slot, len(view.board.ids)))
            return await super().propose(view)

    asyncio.run(search(world.state, Looking(world.task)))
    assert sorted(seen) == [(0, 7), (1, 7), (2, 7), (3, 8), (4, 9), (5, 10)]


def test_archive_does_not_depend_on_the_order_of_replies() -> None:
    """Replies take as long as they like: no slot waits for another's race, and none sees it too early."""
    digests = set()
    for luck in range(4):
        world = World(seed=4, confirm=40, section=SearchSection(candidates=12, in_flight=4))
        rng, under_way = np.random.default_rng(luck), [0, 0]

        async def evaluate(program: Program, items: Sequence[Item], run_: int) -> list[Prediction]:
            under_way[0] += 1  # noqa: B023  used at once
            under_way[1] = max(under_way)  # noqa: B023
            for _ in range(int(rng.integers(40))):  # noqa: B023
                await asyncio.sleep(0)
            under_way[0] -= 1  # noqa: B023
            return await world.task.evaluate(program, items, run_)  # noqa: B023

        world.state = replace(world.state, evaluate=evaluate)
        run(world)
        digests.add(world.state.archive.digest())
        assert under_way[1] >= 4
    assert len(digests) == 1


def test_the_budgets_end_stops_the_search_and_keeps_what_was_answered() -> None:
    world = World()
    left = 7 * 120 + 120 + 200

    async def evaluate(program: Program, items: Sequence[Item], run_: int) -> list[Prediction]:
        nonlocal left
        if len(items) > left:
            raise BudgetSpent("the budget of 1,160 tokens is spent")
        left -= len(items)
        return await world.task.evaluate(program, items, run_)

    world.state = replace(world.state, evaluate=evaluate)
    ended = asyncio.run(search(world.state, Steps(world.task)))
    assert ended.reason.startswith("the budget of 1,160 tokens is spent; no winner was confirmed")
    assert not ended.is_whole
    assert ended.proposals < 4
    assert world.state.board().ids[:7] == tuple(p.id for p in world.library)


def test_a_search_stops_when_its_best_stay_the_same() -> None:
    world = World(section=SearchSection(candidates=60, patience=8))

    class Worse(Steps):
        async def propose(self, view: PolicyView) -> Proposal:
            return Proposal(self.task.program(f"p{view.slot}", 0.2), "worse")

    ended = asyncio.run(search(world.state, Worse(world.task)))
    assert ended.reason == "converged"
    assert ended.proposals < 20
    assert len([e for e in world.state.archive.events if e.startswith("slot/")]) == ended.proposals


def test_a_parent_must_be_there() -> None:
    with pytest.raises(StoreError, match="parent nobody is not in the archive"):
        Archive({}).add_candidate(Candidate(Program("a", "x"), 0, "mutate", ("nobody",)))


def test_novel_draws_and_small_steps_both_find_something() -> None:
    for policy in (FreshDraws, Steps):
        world = World(section=SearchSection(candidates=16), kind="ordinary", confirm=120)
        asyncio.run(search(world.state, policy(world.task)))
        winner = asyncio.run(confirm_finalists(world.state))
        assert world.task.accuracy[winner.id] > world.task.accuracy[world.state.start] - 0.02
        assert len(winner.finalists) == 3


def test_a_winner_that_was_tested_stays_whatever_labels_come() -> None:
    world = World(section=SearchSection(candidates=8), kind="ordinary", confirm=40, test=40)
    run(world)
    winner = asyncio.run(confirm_finalists(world.state))
    other = next(c for c in winner.finalists if c != winner.id)
    archive, labels = world.state.archive, dict(world.state.labels)
    for split in ("select", "confirm"):  # change the labels so that the other finalist is always right
        [right] = archive.table.options([other], archive.splits[split])
        labels[split] = replace(labels[split], truth=right)
    later = replace(world.state, labels=labels)
    assert decide(later, list(winner.finalists)).id == other
    answers = archive.digest()
    again = asyncio.run(confirm_finalists(later))
    assert again.id == winner.id
    assert again.naive == pytest.approx(later.board().standing(winner.id).value)
    assert archive.digest() == answers


def library_state(world: World) -> SearchContext:
    """The real library, with accuracies made up."""
    programs = [load_program(name) for name in NAMES]
    world.library = programs
    world.task.accuracy = {p.id: 0.5 + 0.02 * j for j, p in enumerate(programs)}
    return replace(world.state, programs=programs)


class Known(dict[str, float]):
    """Every program that is not known is right six times in ten."""

    def __missing__(self, key: str) -> float:
        return 0.6


def test_recombination_makes_new_programs_offline_and_the_same_ones_again() -> None:
    archives = []
    for _ in range(2):
        world = World(section=SearchSection(candidates=24, in_flight=6, rungs=[30], keep=[]), select=30)
        world.state = library_state(world)
        world.task.accuracy = Known(world.task.accuracy)
        asyncio.run(search(world.state, Recombine(read_wordings())))
        archives.append(world.state.archive)
    assert archives[0].digest() == archives[1].digest()
    made = [c for c in archives[0].candidates.values() if c.slot >= 0]
    assert len(made) >= 20
    assert len({c.op for c in made}) >= 4
    assert all(c.note and c.parents for c in made)


def test_a_quotation_of_what_a_program_is_judged_on_is_found() -> None:
    text = "A man of sixty with chest pain that spreads to the left arm on the stairs"
    item = Item("i7", text, ("a", "b"), (0, 1))
    assert "'i7'" in find_quotation(f'HINT = "{text.upper()}!"', [item])
    assert find_quotation('HINT = "a man of sixty with chest pain"', [item]) == ""


def test_storing_a_search_twice_changes_nothing(tmp_path: Path) -> None:
    world = World(select=30, section=SearchSection(rungs=[30], keep=[], candidates=2))
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        store.content.add_items(world.task.items)
        searches = store.searches
        splits = {"select": [i.id for i in world.task.items]}
        for _ in range(2):
            searches.add_search("s", {"seed": 1}, splits)
        with pytest.raises(StoreError, match="other splits of the items"):
            searches.add_search("s", {}, {"select": ["00000"]})
        world.state = replace(world.state, archive=load_archive(store, "s"))
        run(world)
        archive = world.state.archive
        for candidate in archive.candidates.values():
            searches.add_candidate("s", candidate)
        for (name, replicate), found in archive.table.all_predictions().items():
            searches.add_answers("s", name, replicate, found)
        searches.add_event("s", "winner", {"candidate": "another"})
        assert load_archive(store, "s").digest() == archive.digest()
        with pytest.raises(StoreError, match="no search t"):
            load_archive(store, "t")


def test_failed_answers_are_asked_again_when_a_search_goes_on(tmp_path: Path) -> None:
    world = World(select=30, section=SearchSection(rungs=[30], keep=[], candidates=0))
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        store.content.add_items(world.task.items)
        store.searches.add_search("s", {}, {"select": [i.id for i in world.task.items]})
        down = [True]

        async def evaluate(program: Program, items: Sequence[Item], run_: int) -> list[Prediction]:
            found = await world.evaluate(program, items, run_)
            lost = [down[0] and int(p.item_id) < 5 for p in found]
            failed = PredictionStatus.FAILED
            return [
                replace(p, option=None, status=failed) if x else p for p, x in zip(found, lost, strict=True)
            ]

        for _ in range(2):
            archive = load_archive(store, "s")
            world.state = replace(world.state, archive=archive, evaluate=evaluate)
            run(world)
            down[0] = False
        stored = load_archive(store, "s").table.all_predictions()
    assert {p.status for found in stored.values() for p in found} == {PredictionStatus.OK}
    finalists = len(archive.events["winner"]["finalists"])
    # asked in the race, before the winner is named, and after the resume
    assert max(Counter(world.asked).values()) == 3
    assert len(world.asked) == 8 * 30 + 8 * 5 + finalists * 5


@pytest.mark.parametrize("readable", [[], ["lib0"], ["lib0", "lib3"]])
def test_search_stops_before_it_pays_for_a_start_or_library_that_is_never_readable(
    readable: list[str],
) -> None:
    world = World(select=30, section=SearchSection(rungs=[8, 30], keep=[0.5], candidates=4))

    async def evaluate(program: Program, items: Sequence[Item], run_: int) -> list[Prediction]:
        found = await world.evaluate(program, items, run_)
        if program.name in readable or not program.name.startswith("lib"):
            return found
        return [replace(p, option=None, status=PredictionStatus.UNREADABLE) for p in found]

    world.state = replace(world.state, evaluate=evaluate)
    ended = asyncio.run(search(world.state, FreshDraws(world.task)))
    asked = Counter(program for program, *_ in world.asked)
    if len(readable) < 2:
        assert "names an option" in ended.reason
        assert (ended.proposals, ended.is_whole) == (0, False)
        assert asked == dict.fromkeys([p.id for p in world.library[: 7 * len(readable) or 1]], 8)
    else:
        assert (ended.reason, ended.proposals, ended.is_whole) == ("done", 4, True)
