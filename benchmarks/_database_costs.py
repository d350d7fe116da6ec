"""What the operations of a joint run take of a real PostgreSQL: time, processors, disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields
from pathlib import Path

import sqlalchemy as sa

from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import Amounts, JointSpec, ReservedAnswer, Store, WorkerWrite
from oversight.harness.types import Item, Prediction, PredictionStatus

LEASE = 600.0
_TRIPS = [0]
_TICK = 0.01  # seconds by which the system counts what a process takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one operation.

    Attributes
    ----------
    wall
        Seconds by the clock, which grow with what else the machine does.
    own, cpu
        Processor seconds of the worker and of the server.
    trips
        Messages to the server that are waited for.
    log
        Bytes of the server's log.
    """

    wall: float
    own: float
    trips: float
    cpu: float
    log: float

    def minus(self, other: Cost) -> Cost:
        """What is left, at least nothing."""
        names = [field.name for field in fields(self)]
        left = {name: max(0.0, getattr(self, name) - getattr(other, name)) for name in names}
        return Cost(**left)

    def lasts(self, trip: float, flush: float) -> float:
        """Seconds on machines that do nothing else, given those of a message and of a write to the disk."""
        return self.own + self.cpu + self.trips * trip + flush


class JointRunBench:
    """A joint run in an empty database, and its operations as a worker makes them."""

    def __init__(self, url: str, store: Store, n: int) -> None:
        self.url, self.store, self.n = url, store, n
        words = "a case note of some twenty words, as long as those of many studies are, and not much longer "
        items = [Item(f"item-{j:09}", words + str(j), ("A", "B", "C", "D"), (0, 1, 2, 3)) for j in range(n)]
        self.ids = store.content.add_items(items)
        spec = make_spec("m", ModelSection(model="m", endpoint="http://127.0.0.1:9/v1"), "$text", None)
        store.runs.add_run(spec)
        self.run = spec.id
        price = {"input": 1.0, "output": 1.0}
        joint = JointSpec(
            runs={self.run: {"name": "m", "settings": {}, "price": price, "callable": False}},
            items=[[0, n - 1]],
            retry_failed=False,
            sample=None,
            usd=1e6,
            tokens=None,
            requests=None,
            patience=0.0,
            lease=LEASE,
            uncertain="retry",
        )
        opened, self.worker = store.joint_runs.open(joint, {self.run: self.run}, Amounts)
        self.joint = opened.id
        self.written, self.next, self.granted = 0, 0, Amounts()

    @contextmanager
    def beside(self, number: int) -> Iterator[JointRunBench]:
        """Another worker on the same joint run, over a connection of its own; it has items of its own."""
        with Store(self.url) as store:
            other = copy(self)
            other.store, other.written, other.granted = store, 0, Amounts()
            other.worker = store.joint_runs.enter(self.joint, LEASE) or ""
            other.next = self.next + number * (self.n - self.next) // 8
            yield other

    def claim(self, number: int) -> None:
        """Claim so many answers."""
        some = self.ids[self.next : self.next + number]
        answers = [ReservedAnswer(self.run, name, 0, 1, 600, 100, self.worker) for name in some]
        self.store.joint_answers.claim(self.worker, LEASE, answers)

    def keep(self, number: int) -> None:
        """Store as many."""
        some = self.ids[self.next : self.next + number]
        self.next += number
        rows = [
            (self.run, Prediction(name, 1, PredictionStatus.OK, raw="B", input_tokens=500)) for name in some
        ]
        write = WorkerWrite(number=self.written, rows=rows, ended=(), spent=Amounts())
        self.written += 1
        assert self.store.joint_answers.store(self.worker, LEASE, write)

    def lease(self) -> None:
        """Take a lease, and end it."""
        taken = self.store.leases.take(self.worker, self.run, 8, [], LEASE)
        assert taken is not None
        self.store.leases.end(self.worker, [(self.run, taken.start)])

    def show(self) -> None:
        """Show that the worker lives."""
        self.store.joint_runs.show(self.worker, LEASE)

    def grant(self) -> None:
        """Ask for what 64 calls may use."""
        need = Amounts(1e-6, 700, 1)
        self.granted = self.store.grants.extend_grant(self.worker, self.granted, need, 64)

    def book(self) -> None:
        """Book 16 places in an endpoint's line."""
        self.store.paces.book("http://endpoint", "m", requests=16e-6, tokens=None)

    def measure(self, work: Callable[[], None], seconds: float) -> Cost:
        """Cost of an operation, repeated for so long."""
        pid: int
        [(pid,)] = self.store.read_rows(sa.select(sa.func.pg_backend_pid()))
        work()
        cpu, log, times = _read_cpu(pid), self._read_log(), 0
        trips, own, began = _TRIPS[0], time.thread_time(), time.perf_counter()
        while time.perf_counter() - began < seconds:
            work()
            times += 1
        wall = (time.perf_counter() - began) / times
        own, trips = time.thread_time() - own, _TRIPS[0] - trips
        used, written = _read_cpu(pid) - cpu, self._read_log() - log
        return Cost(
            wall=wall,
            own=own / times,
            cpu=used / times,
            trips=trips / times + 2,  # its begin and its end
            log=written / times,
        )

    def count_bytes(self) -> float:
        """Bytes on disk of a stored answer, its indices included."""
        rows = sa.select(sa.func.count()).select_from(sa.table("prediction")).scalar_subquery()
        size = sa.func.pg_total_relation_size("prediction")
        return float(self.store.read_rows(sa.select(size * 1.0 / rows))[0][0])

    def _read_log(self) -> float:
        place = sa.func.pg_wal_lsn_diff(sa.func.pg_current_wal_lsn(), sa.literal_column("'0/0'::pg_lsn"))
        return float(self.store.read_rows(sa.select(place))[0][0])


@sa.event.listens_for(sa.Engine, "before_cursor_execute")
def _count_trip(*_: object) -> None:
    _TRIPS[0] += 1


def _read_cpu(pid: int) -> float:
    """Processor seconds that a process has taken."""
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * _TICK


@contextmanager
def joint_run_bench(url: str, n: int) -> Iterator[JointRunBench]:
    """A joint run of so many items in the database of this address, which must be empty."""
    with Store(url) as store:
        yield JointRunBench(url, store, n)
