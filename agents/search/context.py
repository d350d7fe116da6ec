"""The context that all steps of a search share: settings, data, and functions that run programs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from oversight.agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from oversight.agents.runtime import Replay
from oversight.agents.search.fitness.archive import Archive
from oversight.agents.search.fitness.board import Board, ScoredRows, rounded, score_candidates
from oversight.agents.search.fitness.expert_labels import ExpertLabels
from oversight.agents.search.fitness.power import measure_power
from oversight.agents.search.fitness.scores import OUTCOME, score_items
from oversight.agents.search.policies.proposal import JudgedAnswer, PolicyView
from oversight.harness import ProgramRefused, derive_seed
from oversight.harness.config import SearchSection
from oversight.harness.types import Item, Prediction, PredictionStatus, Program

FEWEST = 2
"""Default number of concurrent slots (proposals): one program is written while another answers items.
A slot cannot use the results of concurrent slots."""

Evaluate = Callable[[Program, Sequence[Item], int], Awaitable[Sequence[Prediction]]]
"""``evaluate(program, items, replicate)``: one prediction per item, in order."""

CheckProgram = Callable[[Program], Awaitable[str]]
"""Returns a message that tells a program's author why it cannot be evaluated; empty if it can be."""

REFUSED = 4
"""Maximum number of errors of earlier programs that are shown to the author of the next proposal."""

PORTION = 4
"""Number of feedback items answered per refuted answer needed; about one answer in four is refuted."""

Retell = Callable[[Program, Item], Awaitable[Replay]]
"""Returns a program's calls on an item and their replies, from stored calls."""

T = TypeVar("T")


async def _ask_nothing(*_: object) -> Sequence[Prediction]:
    raise AssertionError("an overview must not ask a model")


async def _retell_nothing(*_: object) -> Replay:
    return Replay()


async def _accept(_: Program) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchContext:
    """A search: its settings, its data, and the functions that run and check programs.

    Attributes
    ----------
    id
        First 12 hexadecimal digits of the hash of everything that determines the search.
    created
        Time at which the search was first set up.
    section, seed
        Settings of the search, and the seed of all draws.
    programs
        Programs at the start; without a search, the user would use the first one.
    roles, shape
        Roles and prompt format of the study, see `oversight.agents.programs.workflow_settings`.
    archive, labels
        The archive, and the current labels by split.
    evaluate, check
        `evaluate` runs a program on items; by default, it raises an error. `check` returns a reason to refuse
        a program.
    doubts
        Messages about experts' answers that the splits leave out, and about possibly wrong answers.
    remarks
        Notes of the set-up: values that were chosen for settings, and parts that were left out.
    retell
        Function that replays a program's calls on an item without asking a model.
    progress
        Function that receives progress messages.
    debug_tries
        Maximum number of attempts to repair a proposed program that does not run.
    scored
        Cache of scores.
    by_parents
        Whether scores are shrunken towards the parents' scores; False in searches of older versions.
    """

    id: str = ""
    created: str = ""
    section: SearchSection
    seed: int = 0
    programs: Sequence[Program]
    roles: tuple[Role, ...] = ()
    shape: PromptFormat = DEFAULT_FORMAT
    archive: Archive
    labels: Mapping[str, ExpertLabels]
    evaluate: Evaluate = _ask_nothing
    check: CheckProgram = _accept
    retell: Retell = _retell_nothing
    doubts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    progress: Callable[[str], None] = lambda _: None
    debug_tries: int = 3
    scored: ScoredRows = field(default_factory=ScoredRows)
    by_parents: bool = True

    @property
    def start(self) -> str:
        """Id of the first start program, which the user would use without a search."""
        return self.programs[0].id

    @property
    def estimator(self) -> str:
        """Name of the fitness estimator, see `oversight.agents.search.fitness.scores`."""
        return self.section.parity or self.section.fitness

    def items(self, split: str) -> tuple[Item, ...]:
        """Return the items of a split in their order."""
        return self.archive.splits.get(split, ())

    @property
    def in_flight(self) -> int:
        """Number of concurrent slots."""
        return FEWEST if self.section.in_flight is None else self.section.in_flight

    def ended_before(self, slot: int) -> list[str]:
        """Return the candidates that a slot may use: start programs, and candidates from ended slots."""
        last = slot - self.in_flight
        return [name for name, c in self.archive.candidates.items() if c.slot <= max(last, -1)]

    def board(self, ids: Sequence[str] | None = None) -> Board:
        """Return the archive scored on the selection items."""
        return score_candidates(
            self.archive,
            self.items("select"),
            self.labels["select"],
            estimator=self.estimator,
            replicates=self.section.replicates,
            ids=ids,
            kept=self.scored,
            by_parents=self.by_parents and not self.section.parity,
        )

    async def answer(self, candidate: str, items: Sequence[Item], replicate: int | None = None) -> None:
        """Run a candidate on the items that it has not answered, in all replicates or only in `replicate`."""
        for run in range(self.section.replicates) if replicate is None else (replicate,):
            if todo := self.archive.to_ask(candidate, run, items):
                try:
                    found = await self.evaluate(self.archive.candidates[candidate].program, todo, run)
                # If a newer gate refuses an old candidate's program, the candidate's answers count as wrong.
                except ProgramRefused as error:
                    wrong = PredictionStatus.UNREADABLE
                    found = [Prediction(item.id, None, wrong, str(error), sample=run) for item in todo]
                self.archive.record(candidate, run, found)
                if failed := [p.reason for p in found if p.status is PredictionStatus.FAILED]:
                    self.progress(f"{len(failed)} of {len(found)} answers failed, the last: {failed[-1]}")

    def find_complete(self, ids: Sequence[str]) -> set[str]:
        """Return the candidates with answers to all selection items."""
        items, there = self.items("select"), self.archive.table.is_there
        done = [there(ids, items, run).all(axis=1) for run in range(self.section.replicates)]
        return {ids[j] for j in np.flatnonzero(np.all(done, axis=0))}

    def find_finalists(self) -> list[str]:
        """Return the candidates with the best posterior means.

        With ``[search] parity``, return only the candidate with the best score among those that answered all
        items.
        """
        board = self.board()
        if not self.section.parity:
            return board.ranked()[: self.section.finalists]
        done = self.find_complete(board.ids)
        whole = [c for c in board.ids if c in done]
        return [max(whole, key=lambda c: rounded(board.standing(c).value))]

    async def judge(self, slot: int, candidate: str, wanted: int) -> list[JudgedAnswer]:
        """Answer feedback items with a candidate, and compare its answers with the experts' labels.

        The items are answered in portions, in the slot's random order, until `wanted` answers are refuted.
        Further answers would cost calls, but the optimiser would not see them.
        """
        items = self.items("feedback")
        order = [items[i] for i in self.rng("judged", slot).permutation(len(items))]
        judged: list[JudgedAnswer] = []
        while len(judged) < len(order) and sum(case.known and case.refuted for case in judged) < wanted:
            portion = order[: len(judged) + PORTION * wanted]
            await self.answer(candidate, portion, 0)
            judged = self._hold_against(candidate, portion)
        return judged

    def _hold_against(self, candidate: str, portion: Sequence[Item]) -> list[JudgedAnswer]:
        """Judge a candidate's answers to the feedback items in `portion` by the experts' labels."""
        items, labelled = self.items("feedback"), self.labels["feedback"]
        scores = score_items(self.archive.table.options([candidate], items), labelled, OUTCOME)[0]
        row = {item.id: i for i, item in enumerate(items)}
        predictions = self.archive.table.predictions(candidate, portion)
        return [
            JudgedAnswer(
                item=item,
                option=prediction.option,
                known=bool(labelled.answered[i]) and prediction.status is not PredictionStatus.FAILED,
                settled=bool(labelled.truth[i] >= 0),
                refuted=prediction.option is None or scores[i] < (1 if labelled.truth[i] >= 0 else 0.5),
            )
            for item, prediction in zip(portion, predictions, strict=True)
            for i in (row[item.id],)
        ]

    async def transcribe(self, candidate: str, item: Item) -> Replay:
        """Return a candidate's calls on a feedback item; empty if the gate refuses its program."""
        try:
            return await self.retell(self.archive.candidates[candidate].program, item)
        except ProgramRefused:
            return Replay()

    def rng(self, *names: object) -> np.random.Generator:
        """Return the random generator of the step with these names, which is the same in a resumed search."""
        return np.random.default_rng(derive_seed(self.seed, *map(str, names)))

    def describe_labels(self) -> list[str]:
        """Return messages about the power of the selection labels, and about labels that may be wrong."""
        return [*measure_power(self.labels["select"]).lines(), *self.doubts]

    def view(self, board: Board, slot: int) -> PolicyView:
        """Return the view of the search that the proposer of a slot receives."""
        return PolicyView(
            board=board,
            candidates=self.archive.candidates,
            start=self.start,
            published=bool(self.section.parity),
            slot=slot,
            in_flight=self.in_flight,
            planned=self.section.candidates,
            refused=self._refused(slot),
            rng=self.rng("slot", slot),
            judge=partial(self.judge, slot),
            transcribe=self.transcribe,
        )

    def _refused(self, slot: int) -> tuple[str, ...]:
        """Return the latest distinct reasons why programs were refused, in the slots that have ended."""
        ended = range(max(0, slot - self.in_flight + 1))
        noted = (self.archive.events.get(f"slot/{other}", {}) for other in ended)
        told = dict.fromkeys(str(e["refused"]) for e in reversed(list(noted)) if e.get("is_told"))
        return tuple(reversed(list(told)[:REFUSED]))


async def gather_all(*jobs: Awaitable[T]) -> list[T]:
    """Await all jobs, then raise the first error, if any, so that no job's paid answers are lost."""
    results: list[Any] = await asyncio.gather(*jobs, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
