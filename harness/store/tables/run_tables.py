"""Rows and tables of model runs and workflow searches: calls, answers and usage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from oversight.harness.platform import is_gone, machine_id
from oversight.harness.store.tables.table_maker import make_table
from oversight.harness.types import Prediction


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A model call and its result.

    `key` is a hash of the model, the request, and the name of the draw. A draw's name is, for example,
    ``item/replicate/occurrence``. A failed call has an `error`, and a later attempt replaces its row. `usd`
    is None if no price is known.
    """

    key: str
    request: str
    reply: str
    finish: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    ms: float
    error: str
    created: str


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch submitted to a Batch API; `remote_id` is None until the endpoint returned it.

    `requests` are the (item id, sample) pairs of the batch.
    """

    marker: str
    run_id: str
    remote_id: str | None
    state: str
    requests: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ReservedAnswer:
    """Reserved usage of an unfinished answer: its usage so far, and the maximum usage of its next call."""

    run_id: str
    item_id: str
    sample: int
    requests: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLock:
    """The process that works on a run; `since` is in seconds by the database's clock.

    The run itself need not be stored yet. `owner` is a random id of the holder. With `pid` and `started`,
    a process on the same `machine` can check whether the holder still runs.
    """

    run_id: str
    owner: str
    host: str
    machine: str
    pid: int
    started: str
    since: float

    def __str__(self) -> str:
        """Return a sentence with host, process and time, for messages."""
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.pid} on {self.host} has been working on this run since {since}"

    @property
    def is_elsewhere(self) -> bool:
        """Whether the lock's process is on another machine."""
        return self.machine != machine_id()

    def is_held(self, *, take_over: bool = False) -> bool:
        """Whether the lock's process is running or cannot be checked.

        With `take_over`, a process on another machine counts as ended.
        """
        return not is_gone(self.machine, self.pid, self.started) and not (take_over and self.is_elsewhere)


_OF_ITEM, _OF_RUN, _OF_SEARCH = {"item_id": "item.id"}, {"run_id": "run.id"}, {"search_id": "search.id"}
# `spec` contains all settings that determine a search or a run. The id of a run is the hash of its `spec`,
# and `served_as` is the model's name in the endpoint's first reply.
_SPECIFIED = "id str, created str, spec Mapping"
SEARCH = make_table("search", _SPECIFIED, "id")
RUN = make_table("run", f"{_SPECIFIED}, name str, served_as str | None", "id", index="name")
# The split to which a search assigned an item; `position` is the item's position in the split.
_SPLIT = "search_id str, position int, item_id str, split str"
SEARCH_ITEM = make_table("search_item", _SPLIT, "search_id item_id", refers=_OF_SEARCH | _OF_ITEM)
# A program in the archive of a search; `position` is its place in the order of arrival.
_ARCHIVED = (
    "search_id str, position int, id str, slot int, op str, name str, source str, thought str, note str, "
    "parents tuple"
)
CANDIDATE = make_table("candidate", _ARCHIVED, "search_id id", refers=_OF_SEARCH, defaults={"parents": "[]"})
# A candidate's answer to an item in one replicate.
CANDIDATE_ANSWER = make_table(
    "candidate_answer",
    Prediction,
    "search_id candidate_id replicate item_id",
    sa.ForeignKeyConstraint(["search_id", "candidate_id"], ["candidate.search_id", "candidate.id"]),
    without="sample confidence source guessed step probabilities",
    refers=_OF_ITEM,
    search_id="str",
    candidate_id="str",
    replicate="int",
)
# A decision of a search. Later decisions with the same key are ignored.
_DECISION = "search_id str, position int, key str, data Mapping"
SEARCH_EVENT = make_table("search_event", _DECISION, "search_id key", refers=_OF_SEARCH)
RUN_LOCK = make_table("run_lock", RunLock, "run_id")
# A run's answer to an item; `guessed` is the number of calls whose endpoint reported no tokens.
PREDICTION = make_table(
    "prediction",
    Prediction,
    "run_id item_id sample",
    without="probabilities",
    refers=_OF_RUN | _OF_ITEM,
    defaults={"source": "call", "step": "", "guessed": "0"},
    run_id="str",
)
# The probabilities that a judge gave to the options of an item, in option order.
_JUDGED = "run_id str, item_id str, probabilities tuple"
VECTOR = make_table("judge_probability", _JUDGED, "run_id item_id", refers=_OF_RUN | _OF_ITEM)
# Usage of a run that belongs to no stored prediction. `kind` is "reserved" for one unfinished answer (the row
# is removed when the answer is stored), "under way" for all unfinished calls of a workflow run, "paid" for
# its finished calls, and "charged" for usage that never led to an answer.
LEDGER = make_table(
    "ledger",
    ReservedAnswer,
    "run_id kind item_id sample",
    refers=_OF_RUN,
    run_id="str",
    kind="str",
    answers="int",
    input_tokens="big",
    output_tokens="big",
)
# Whether a model at an endpoint offers a feature, as found by one test request.
_FEATURE = "endpoint str, model str, feature str, offered bool, detail str"
PROBE = make_table("probe", _FEATURE, "endpoint model feature")
BATCH = make_table("batch", Batch, "marker", index="run_id", refers=_OF_RUN)
CALL = make_table("call", StoredCall, "key")
# Number of changes to a run's predictions, counted by database triggers.
RUN_VERSION = make_table("run_version", "run_id str, version big", "run_id")
# A run's answers as arrays, cached for one version of its predictions. `options` contains one 16-bit integer
# per item, see `oversight.harness.columns.PredictionColumns`. `confidences` contains one 64-bit float per
# item, or is empty. Both are little-endian.
_CACHED = "run_id str, version big, options bytes, confidences bytes, counts Mapping"
RUN_COLUMNS = make_table("run_columns", _CACHED, "run_id")
