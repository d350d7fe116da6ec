"""Asking models together with other processes, over a database on a server.

Each is a worker: it takes leases of items, claims every answer before its call leaves, and stores what came.
A worker that does not show itself is taken for lost by the others, who ask about what it left.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count

from oversight.harness.errors import LeaseLost, ModelError, OversightError, Stopped
from oversight.harness.llm.asking.joint_budget import JointAllowance
from oversight.harness.llm.asking.leased_items import LeasedItems
from oversight.harness.llm.asking.membership import Membership, Watch
from oversight.harness.llm.limits import Budget, dollars
from oversight.harness.llm.runner import (
    Batches,
    Crew,
    JobsEnd,
    Prepared,
    Progress,
    Questions,
    RunResult,
    RunTerms,
    StoredRow,
    Target,
    Wanted,
    collecting_rarely,
    make_jobs,
    run_in_loop,
    run_jobs,
)
from oversight.harness.output import counted, say
from oversight.harness.store import Amounts, JointRun, JointSpec, ReservedAnswer, Store, WorkerWrite
from oversight.harness.types import Source

_LINGER = 0.002  # seconds for which claims gather, to be stored together
_LOOK = 0.5  # seconds between two looks at what the others do


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A joint run that is open, all its items, and this process's first worker."""

    joint: JointRun
    wanted: Wanted
    worker: str


def open_jointly(
    wanted: Wanted, targets: Sequence[Target], prepared: Sequence[Prepared], terms: RunTerms
) -> Opening | None:
    """Open a joint run for what can be asked, or join the one that is open; None if nothing is left to ask.

    Parameters
    ----------
    targets
        Those that were prepared, by whose runs the locks go that this process holds.

    Raises
    ------
    RunHeld
        If others ask the same models otherwise.
    """
    store = wanted.store
    # what was under way on workers that are gone is charged or held first, and counts from then on
    store.joint_runs.close_left({one.target.spec.id for one in prepared})
    asked = [
        (one.target, before.spec.id)
        for before, one in zip(targets, prepared, strict=True)
        if one.error is None and any(map(len, wanted.find_left(one.target)))
    ]
    if not asked:
        return None
    spec = JointSpec(
        runs={target.spec.id: _describe(target) for target, _ in asked},
        items=store.joint_runs.find_places(wanted.ids),
        retry_failed=wanted.retry_failed,
        sample=None if wanted.sample is None else asdict(wanted.sample),
        **asdict(terms.limits),
        patience=terms.patience,
        lease=terms.lease,
        uncertain=terms.uncertain,
    )
    locks = {target.spec.id: run for target, run in asked}

    def take() -> Amounts:
        used = sum((_read_used(store, one.target) for one in prepared), start=Amounts())
        for target, _ in asked:
            target.note_price(store)
        return used

    joint, worker = store.joint_runs.open(spec, locks, take)
    return Opening(joint=joint, wanted=wanted, worker=worker)


def _describe(target: Target) -> dict[str, object]:
    """What a joint run notes of a target."""
    price = None if target.price is None else asdict(target.price)
    settings = target.settings.model_dump(mode="json")
    return {"name": target.spec.name, "settings": settings, "price": price, "callable": bool(target.function)}


def _read_used(store: Store, target: Target) -> Amounts:
    """What a run has used so far."""
    used = [part for part in store.runs.sum_usage(target.spec.id) if part.source is not Source.IMPORT]
    usd = dollars(target.price, used, store.runs.read_prices(target.spec.id)) or 0.0
    tokens = sum(part.input_tokens + part.output_tokens for part in used)
    return Amounts(usd, tokens, sum(part.requests for part in used))


def work_on(opening: Opening, targets: Sequence[Target], crew: Crew | None = None) -> list[RunResult]:
    """Work on a joint run until all its items are answered, or this process, or the crew, cannot go on.

    Raises
    ------
    Stopped
        At a signal.
    """
    return _Work(opening, targets, crew).run()


class _Work:
    """What one process does of a joint run: as one worker, and another when there is more to take."""

    def __init__(self, opening: Opening, targets: Sequence[Target], crew: Crew | None) -> None:
        self._crew = crew
        self._joint, self._wanted = opening.joint, opening.wanted
        self._store = opening.wanted.store
        self._worker: str | None = opening.worker
        self._targets = {t.spec.id: t for t in targets if t.spec.id in opening.joint.spec.runs}
        self._errors: dict[str, OversightError] = {}
        self._asked, self._late = Counter[str](), 0
        self._told = set[str]()
        self._watch = Watch(self._store, self._joint)

    def run(self) -> list[RunResult]:
        targets = list(self._targets.values())
        total = sum(len(self._wanted.ids) * target.settings.samples for target in targets)
        left = sum(len(some) for target in targets for some in self._wanted.find_left(target))
        with Progress.of(targets, total, total - left) as progress:
            others = _Others(self._store, self._joint, progress)
            if self._crew is not None:
                self._watch_over(self._crew, others)
            else:
                while self._worker or self._finds_more(others):
                    self._work_once(progress, others)
        if self._late:
            say(
                f"{counted(self._late, 'answer')} came after others had been asked for them, as this process "
                "had stood still; they are kept apart and count nowhere"
            )
        return [
            RunResult(target=target, asked=self._asked[run], error=self._errors.get(run))
            for run, target in self._targets.items()
        ]

    def _watch_over(self, crew: Crew, others: _Others) -> None:
        """Wait until a crew has answered all items, or none of it works any more."""
        worker = self._worker or ""
        others.mine.add(worker)
        me = Membership(self._store, self._joint, worker, self._watch)
        with me, crew.working(self._joint.id):
            while self._find_unended() and crew.is_working():
                others.look()
                time.sleep(_LOOK)
        others.look(0)
        self._asked.update({run: crew.asked[target.spec.name] for run, target in self._targets.items()})
        for run in self._find_unended():
            name = self._targets[run].spec.name
            why = crew.stopped.get(name) or crew.stopped.get("") or "no worker is left"
            self._errors[run] = ModelError(why)

    def _find_unended(self) -> set[str]:
        """Those of the runs that are not all answered."""
        self._store.leases.end_runs(self._joint.id)
        return self._targets.keys() & set(self._store.joint_runs.find_unended(self._joint.id))

    def _finds_more(self, others: _Others) -> bool:
        """Wait until there is something that nobody asks about; False once all is answered, or given up."""
        while True:
            mine = self._find_unended() - self._errors.keys()
            if not mine or self._store.leases.has_free(mine):
                return bool(mine)
            self._watch.look()
            others.look()
            time.sleep(_LOOK)

    def _work_once(self, progress: Progress, others: _Others) -> None:
        """Be a worker until there is nothing to take, or the others take this process for lost."""
        lease = self._joint.spec.lease
        worker = self._worker or self._store.joint_runs.enter(self._joint.id, lease)
        self._worker = None
        if worker is None:  # it came to its end meanwhile
            return
        others.mine.add(worker)
        runs = [run for run in self._targets if run not in self._errors]
        with Membership(self._store, self._joint, worker, self._watch) as me, collecting_rarely():
            end = self._ask([self._targets[run] for run in runs], me, progress, others)
        if end.signal is not None:
            raise Stopped(end.signal)
        failed = {run: error for run, error in zip(runs, end.errors, strict=True) if error is not None}
        if any(isinstance(error, LeaseLost) for error in failed.values()):
            say("this process was taken for lost by the others, and begins anew")
        self._errors |= {run: error for run, error in failed.items() if not isinstance(error, LeaseLost)}

    def _ask(self, targets: Sequence[Target], me: Membership, progress: Progress, others: _Others) -> JobsEnd:
        store, joint, worker, lease = self._store, self._joint, me.worker, self._joint.spec.lease
        leased = [LeasedItems(self._wanted, joint, target, me) for target in targets]
        budgets = self._make_budgets(targets, worker)
        served, numbers = dict[str, str](), count()

        def claim(answers: Sequence[ReservedAnswer]) -> None:
            store.joint_answers.claim(worker, lease, answers)

        claims = Batches[ReservedAnswer, None](claim, linger=_LINGER)

        async def reserve(answer: ReservedAnswer) -> None:
            began = time.monotonic()
            await claims.put(replace(answer, worker=worker))
            me.shown(began)
            me.check()

        def write(rows: Sequence[StoredRow]) -> None:
            ended = [pair for items in leased for pair in items.wrote(rows)]
            written = WorkerWrite(number=next(numbers), rows=rows, ended=ended, spent=budgets[0].spent)
            began = time.monotonic()
            if store.joint_answers.store(worker, lease, written):
                me.shown(began)
                self._asked.update(run for run, _ in rows)
                progress.wrote(rows)
            else:
                self._late += len(rows)
            while served:
                store.runs.note_served_as(*served.popitem())
            others.look()

        questions = [
            Questions(target=target, todo=iter(items), budget=budget)
            for target, items, budget in zip(targets, leased, budgets, strict=True)
        ]
        jobs = make_jobs(
            store,
            questions,
            patience=joint.spec.patience,
            reserve=reserve,
            served=served,
            together=True,
            tell=self._tell,
        )
        return run_in_loop(run_jobs(jobs, write))

    def _tell(self, text: str) -> None:
        """Say something once, however often this process begins anew."""
        if text not in self._told:
            self._told.add(text)
            say(text)

    def _make_budgets(self, targets: Sequence[Target], worker: str) -> list[Budget]:
        """One budget for all, of which this worker has what it is granted."""
        spec = self._joint.spec
        is_limited = (spec.usd, spec.tokens, spec.requests) != (None, None, None)
        allowance = JointAllowance(self._store, self._joint, worker) if is_limited else None
        first = Budget(spec.usd, spec.tokens, targets[0].price, requests=spec.requests, allowance=allowance)
        return [first.at(target.price) for target in targets]


class _Others:
    """What the others on a joint run have answered, for the bar.

    Attributes
    ----------
    mine
        Workers that this process was.
    """

    def __init__(self, store: Store, joint: JointRun, progress: Progress) -> None:
        self._store, self._joint, self._progress = store, joint, progress
        self.mine = set[str]()
        self._looked = time.monotonic()
        self._known = self._count()

    def look(self, pause: float = 1.0) -> None:
        """Move the bar on, if so many seconds have passed since it was."""
        if time.monotonic() - self._looked < pause:
            return
        self._looked, before, self._known = time.monotonic(), self._known, self._count()
        self._progress.others_wrote(self._known - before)

    def _count(self) -> int:
        workers = self._store.joint_runs.find_workers(self._joint.id)
        return sum(worker.answers for worker in workers if worker.id not in self.mine)
