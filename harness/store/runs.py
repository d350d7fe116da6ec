"""SQL of runs and their predictions: remaining items, imports, votes among samples, and usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from oversight.harness.config import RunSpec
from oversight.harness.errors import BadInput, Fault
from oversight.harness.store.database import PORTION, Repository, repeated, split_into_batches
from oversight.harness.store.serialization import write_json
from oversight.harness.store.tables.insertion import execute_many, insert_into, upsert_tuples
from oversight.harness.store.tables.study_tables import ITEM, LEDGER, PREDICTION, RUN, VECTOR
from oversight.harness.types import Prediction, PredictionStatus, Source, Usage

ERASED = "erased"
"""Key that marks the specification of a search or run whose prompts showed an erased item as an example."""
_PRICES = "prices"
"""Key of the prices in a run's stored spec."""
_SETTLED = sa.delete(LEDGER).where(
    LEDGER.c.kind == "reserved",
    LEDGER.c.run_id == sa.bindparam("settled_run_id"),
    LEDGER.c.item_id == sa.bindparam("settled_item_id"),
    LEDGER.c.sample == sa.bindparam("settled_sample"),
)

_WRITTEN = tuple(field.name for field in fields(Prediction) if field.name in PREDICTION.c)
_STORED = [PREDICTION.c[name] for name in _WRITTEN]
_values_of = attrgetter(*_WRITTEN)
ImportedFields = tuple[str, int | None, str, str, int, str, int, int, float, float | None, str]
"""Fields of an imported prediction: item id, option, status, reason, sample, raw text, input tokens, output
tokens, seconds, confidence, step."""
_IMPORTED = tuple(name for name in _WRITTEN if name not in {"attempts", "source", "guessed"})
_SUMMED = ("input_tokens", "output_tokens", "seconds", "attempts", "guessed")
"""Fields that are summed when several predictions are combined."""


@dataclass(frozen=True, slots=True)
class RecordedPrice:
    """A price of a run's model, and the usage of the run before the price applied.

    Attributes
    ----------
    price
        ``input`` and ``output``: dollars per million tokens. ``batch``: factor by which the Batch API
        multiplies these prices.
    since
        The run's usage when the price began to apply: (input tokens, output tokens) by source of the answers.
    """

    price: Mapping[str, float]
    since: Mapping[str, Sequence[int]]


class RunRepository(Repository):
    """Runs and predictions."""

    def add_run(self, spec: RunSpec) -> str:
        """Store a run's specification and make the run the newest of its model.

        Only the newest run of a model counts.

        A stored specification with the same id is replaced; the two can differ only in how answers are read.
        Returns the id of the model's previous newest run; empty if there was no other run.

        Raises
        ------
        BadInput
            If the stored specification lacks an example that was erased (`erase_examples`).
        """
        noted = self.read_prices(spec.id)
        mine = sa.select(RUN.c.id, RUN.c.created).where(RUN.c.name == spec.name)
        stored = spec.to_json() | ({_PRICES: [asdict(each) for each in noted]} if noted else {})
        with self._database.transaction() as connection:
            newest = connection.execute(mine.order_by(RUN.c.created.desc()).limit(1)).one_or_none()
            row = {
                "id": spec.id,
                "name": spec.name,
                "created": time_after(newest.created if newest else ""),
                "spec": stored,
            }
            insertion = insert_into(RUN, connection.dialect).values(row)
            known = connection.execute(sa.select(RUN.c.spec).where(RUN.c.id == spec.id)).scalar()
            if known is not None and ERASED in known:
                raise BadInput(
                    f"{spec.name}: this workflow shows an example whose item was erased from the study; "
                    "export the workflow again, or delete the example from the file that workflow.toml names"
                )
            before = newest.id if newest else ""
            changed = {"spec": insertion.excluded.spec}
            if before != spec.id:
                changed["created"] = insertion.excluded.created
            connection.execute(insertion.on_conflict_do_update(index_elements=["id"], set_=changed))
        return "" if before == spec.id else str(before)

    def record_price(self, run_id: str, price: RecordedPrice) -> None:
        """Store the price that applies to a run from now on, if it differs from the last price.

        The first price also applies to earlier usage.
        """
        noted = self.read_prices(run_id)
        if noted and noted[-1].price == price.price:
            return
        price = price if noted else replace(price, since={})
        with self._database.transaction() as connection:
            mine = RUN.c.id == run_id
            spec = connection.execute(sa.select(RUN.c.spec).where(mine)).scalar_one()
            prices = [asdict(each) for each in (*noted, price)]
            connection.execute(sa.update(RUN).where(mine).values(spec={**spec, _PRICES: prices}))

    def read_prices(self, run_id: str) -> list[RecordedPrice]:
        """Return the prices of a run, oldest first; empty if the run never had a price."""
        rows = self._database.read_rows(sa.select(RUN.c.spec).where(RUN.c.id == run_id))
        return [RecordedPrice(**noted) for (spec,) in rows for noted in spec.get(_PRICES, ())]

    @repeated(twice=True)
    def note_served_as(self, run_id: str, served: str) -> None:
        """Store the name under which a run's endpoint serves its model, unless a name is already stored."""
        first = sa.and_(RUN.c.id == run_id, RUN.c.served_as.is_(None))
        with self._database.transaction() as connection:
            connection.execute(sa.update(RUN).where(first).values(served_as=served))

    def read_served_as(self, run_id: str) -> str | None:
        """Return the name under which a run's endpoint serves the model; None before the first reply."""
        rows = self._database.read_rows(sa.select(RUN.c.served_as).where(RUN.c.id == run_id))
        return rows[0].served_as if rows else None

    @repeated(twice=True)
    def forget_served_as(self, run_id: str, reason: str) -> None:
        """Turn all answers of a run into failed ones, and forget the name of the model that gave them.

        `reason` is the reason of the failures.
        """
        found = [p for p in self.read_samples(run_id) if p.status is not PredictionStatus.FAILED]
        failed = partial(replace, option=None, status=PredictionStatus.FAILED, reason=reason, confidence=None)
        self.store_predictions([(run_id, failed(p)) for p in found])
        self.drop_vectors(run_id, {p.item_id for p in found})
        with self._database.transaction() as connection:
            connection.execute(sa.update(RUN).where(RUN.c.id == run_id).values(served_as=None))

    def count_predictions(self, run_id: str, *conditions: sa.ColumnElement[bool]) -> int:
        """Return the number of a run's answers, including failed ones, that meet all conditions."""
        return self._database.count(PREDICTION, PREDICTION.c.run_id == run_id, *conditions)

    def has_samples(self, run_id: str) -> bool:
        """Whether a run has several answers to the same item."""
        most = sa.select(sa.func.max(PREDICTION.c.sample)).where(PREDICTION.c.run_id == run_id)
        return bool(self._database.read_rows(most)[0][0])

    def count_statuses(self, run_id: str) -> dict[PredictionStatus, int]:
        """Count a run's items by status of the prediction, after a vote among an item's samples."""
        if not self.has_samples(run_id):
            return self.count_samples(run_id)
        counts = Counter(p.status for p in self.read_predictions(run_id))
        return {status: counts[status] for status in PredictionStatus}

    def count_reasons(self, run_id: str) -> list[tuple[PredictionStatus, str, int]]:
        """Return (status, reason, number of answers) per reason, sorted by the first item with the reason."""
        table = PREDICTION.c
        query = (
            sa.select(table.status, table.reason, sa.func.count())
            .join(ITEM, table.item_id == ITEM.c.id)
            .where(table.run_id == run_id, table.reason != "")
            .group_by(table.status, table.reason)
            .order_by(sa.func.min(ITEM.c.position), table.status, table.reason)
        )
        return [
            (PredictionStatus(status), reason, n) for status, reason, n in self._database.read_rows(query)
        ]

    def count_over_limit(self, run_id: str, limit: int) -> int:
        """Count answers of one call that clearly exceed the limit: over 1.1 · `limit` + 4 output tokens."""
        table = PREDICTION.c
        return self.count_predictions(run_id, table.attempts == 1, table.output_tokens > 1.1 * limit + 4)

    def count_steps(self, run_id: str) -> dict[str, int]:
        """Count a run's readable answers by the parsing step that found the option.

        Answers stored by older versions have the step ``""``.
        """
        table = PREDICTION.c
        query = sa.select(table.step, sa.func.count()).where(
            table.run_id == run_id, table.status == PredictionStatus.OK.value
        )
        return dict(map(tuple, self._database.read_rows(query.group_by(table.step).order_by(table.step))))

    def count_samples(self, run_id: str) -> dict[PredictionStatus, int]:
        """Return the number of a run's answers by status, counting every sample of an item."""
        table = PREDICTION.c
        query = sa.select(table.status, sa.func.count()).where(table.run_id == run_id)
        found = dict(self._database.read_tuples(query.group_by(table.status)))
        return {status: found.get(status.value, 0) for status in PredictionStatus}

    def count_guessed(self, run_id: str) -> int:
        """Return the number of a run's answers whose numbers of tokens are estimates."""
        return self.count_predictions(run_id, PREDICTION.c.guessed > 0)

    def read_runs(self) -> list[dict[str, Any]]:
        """Return all runs as ``{"id", "name", "created", "spec"}``, oldest first."""
        names = (RUN.c[name] for name in ("id", "name", "created", "spec"))
        query = sa.select(*names).order_by(RUN.c.created, RUN.c.name)
        runs = self._database.read_values(dict, query)
        for run in runs:
            run["spec"].pop(_PRICES, None)  # prices are no setting of the run; they do not change answers
        return runs

    @repeated(twice=True)
    def store_predictions(self, rows: Sequence[tuple[str, Prediction]], *, reserved: bool = False) -> None:
        """Store predictions with their run ids in one transaction, replacing stored predictions.

        For example, a later answer replaces a failed prediction. Probabilities of all options are stored only
        for the first sample. With `reserved`, the reservations of these answers are removed in the same
        transaction.
        """
        if not rows:
            return
        with self._database.transaction() as connection:
            write_predictions(connection, rows)
            told = [(run, p.item_id, p.probabilities) for run, p in rows if p.probabilities and not p.sample]
            _upsert_vectors(connection, told)
            if reserved:
                settled = [
                    {"settled_run_id": run, "settled_item_id": p.item_id, "settled_sample": p.sample}
                    for run, p in rows
                ]
                execute_many(connection, _SETTLED, settled)

    def store_imported(self, run_id: str, rows: Sequence[ImportedFields]) -> None:
        """Store answers from another program, replacing stored answers to the same items."""
        names = ("run_id", *_IMPORTED, "attempts", "source", "guessed")
        source = Source.IMPORT.value
        values = [(run_id, *row, 1, source, 0) for row in rows]
        with self._database.transaction() as connection:
            upsert_tuples(connection, PREDICTION, names, values)

    def read_predictions(self, run_id: str) -> list[Prediction]:
        """Return one prediction per item of a run, in item order; several samples are combined by a vote."""
        by_item = groupby(self.read_samples(run_id), key=attrgetter("item_id"))
        return [take_vote(list(samples)) for _, samples in by_item]

    def read_samples(self, run_id: str) -> Iterator[Prediction]:
        """Yield all predictions of a run in item order, one prediction per sample."""
        query = (
            sa.select(*_STORED)
            .join(ITEM, PREDICTION.c.item_id == ITEM.c.id)
            .where(PREDICTION.c.run_id == run_id)
            .order_by(ITEM.c.position, PREDICTION.c.sample)
        )
        options = {"yield_per": PORTION}
        with (
            self._database.transaction() as connection,
            connection.execute(query, execution_options=options) as found,
            self._database.reading(),
        ):
            yield from map(_make_prediction, found)

    def find_samples(
        self, run_ids: Collection[str], item_ids: Collection[str]
    ) -> Iterator[tuple[str, Prediction]]:
        """Yield the predictions of several runs about a batch of items, one prediction per sample."""
        table = PREDICTION.c
        query = (
            sa.select(table.run_id, *_STORED)
            .where(self._database.among(table.run_id, run_ids), self._database.among(table.item_id, item_ids))
            .order_by(table.sample)
        )
        rows = self._database.read_rows(query)
        with self._database.reading():
            for run_id, *values in rows:
                yield run_id, _make_prediction(values)

    def find_unasked(
        self, run_id: str, ids: Sequence[str], n_samples: int, *, retry_failed: bool = False
    ) -> Iterator[list[tuple[str, int]]]:
        """Yield batches of (item id, sample) pairs without a stored answer, in the order of `ids`.

        A stored failure counts as an answer. But if the endpoint refused the request, the failure does not
        count, because it cost nothing and a repeated request can succeed. With `retry_failed`, no failure
        counts.
        """
        done = sa.select(PREDICTION.c.item_id, PREDICTION.c.sample).where(PREDICTION.c.run_id == run_id)
        answered = PREDICTION.c.status != PredictionStatus.FAILED.value
        refused = PREDICTION.c.reason.startswith(f"{Fault.REFUSED}:")
        done = done.where(answered if retry_failed else answered | ~refused)
        # Without answers, the slow lookups below are skipped.
        is_new = not self._database.read_rows(done.limit(1))
        for portion in split_into_batches(ids):
            of_these = done.where(self._database.among(PREDICTION.c.item_id, portion))
            have = set() if is_new else set(map(tuple, self._database.read_rows(of_these)))
            yield [(i, s) for i in portion for s in range(n_samples) if (i, s) not in have]

    def read_failed(self, run_id: str) -> dict[tuple[str, int], Prediction]:
        """Return a run's failed answers, by (item id, sample)."""
        return {
            (p.item_id, p.sample): p for p in self.read_samples(run_id) if p.status is PredictionStatus.FAILED
        }

    def sum_usage(self, run_id: str, answers: Sequence[Usage] | None = None) -> list[Usage]:
        """Return a run's paid usage: one sum per source of answers, then charges for calls without an answer.

        A workflow run has one sum over its paid calls instead, because its answers can use cached replies,
        which are not paid for again. `answers` is the result of `sum_answers`, if known.
        """
        paid = self._sum_booked(run_id, "paid") or (self.sum_answers(run_id) if answers is None else answers)
        return [*paid, *self.sum_charges(run_id)]

    def sum_answers(self, run_id: str) -> list[Usage]:
        """Return the usage of a run's stored answers, one sum per source."""
        table = PREDICTION.c
        used = (table.attempts, table.input_tokens, table.output_tokens)
        query = sa.select(table.source, sa.func.count(), *map(sa.func.sum, used))
        rows = self._database.read_rows(query.where(table.run_id == run_id).group_by(table.source))
        return [
            Usage(int(requests), int(sent), int(received), n, Source(source))
            for source, n, requests, sent, received in rows
        ]

    def sum_charges(self, run_id: str) -> list[Usage]:
        """Return the usage charged to a run although it led to no stored answer; empty if there is none."""
        return self._sum_booked(run_id, "charged")

    def _sum_booked(self, run_id: str, kind: str) -> list[Usage]:
        used = [LEDGER.c[name] for name in ("requests", "input_tokens", "output_tokens")]
        of_run = (LEDGER.c.run_id == run_id, LEDGER.c.kind == kind)
        return [Usage(*row) for row in self._database.read_rows(sa.select(*used).where(*of_run))]

    def store_vectors(self, run_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Store a judge's option probabilities by item id, replacing those stored for the same items."""
        with self._database.transaction() as connection:
            _upsert_vectors(connection, [(run_id, item, vector) for item, vector in vectors.items()])

    def drop_vectors(self, run_id: str, items: Collection[str]) -> None:
        """Delete the option probabilities that a run stored for these items."""
        mine = (VECTOR.c.run_id == run_id, self._database.among(VECTOR.c.item_id, items))
        with self._database.transaction() as connection:
            connection.execute(sa.delete(VECTOR).where(*mine))

    def read_vectors(self, run_id: str) -> dict[str, tuple[float, ...]]:
        """Return a run's option probabilities by item id; empty if the run has none.

        The probabilities of an item are in option order.
        """
        query = sa.select(VECTOR.c.item_id, VECTOR.c.probabilities).where(VECTOR.c.run_id == run_id)
        return dict(map(tuple, self._database.read_rows(query)))


def time_after(earlier: str) -> str:
    """Return the current time, or a time just after `earlier` if the clock was set back since then."""
    now = datetime.now(UTC).isoformat()
    if now > earlier:
        return now
    return (datetime.fromisoformat(earlier) + timedelta(microseconds=1)).isoformat()


def _make_prediction(values: Sequence[Any]) -> Prediction:
    row = dict(zip(_WRITTEN, values, strict=True))
    kinds = {"status": PredictionStatus(row["status"]), "source": Source(row["source"])}
    return Prediction(**row | kinds)


def take_vote(samples: Sequence[Prediction]) -> Prediction:
    """Combine all predictions of one run about an item by a vote.

    Self-consistency: Wang et al. (2023, ICLR), "Self-Consistency Improves Chain of Thought Reasoning in
    Language Models".

    A single prediction is returned unchanged. Among several, the most frequent option wins, and the option
    that occurs first wins a tie; `confidence` is the option's share of all predictions that did not fail. If
    no prediction has an option, the first prediction that did not fail is returned, or the first of all if
    all failed. Tokens, seconds and attempts are summed.
    """
    if len(samples) == 1:
        return samples[0]
    votes = Counter(p.option for p in samples if p.option is not None)
    came = [p for p in samples if p.status is not PredictionStatus.FAILED]
    confidence = None
    if votes:
        option, count = votes.most_common(1)[0]  # in a tie, this is the option that occurred first
        chosen = next(p for p in samples if p.option == option)
        confidence = count / len(came)
    else:
        chosen = came[0] if came else samples[0]
    return add_usage(
        replace(chosen, sample=0, confidence=confidence), [p for p in samples if p is not chosen]
    )


def add_usage(prediction: Prediction, others: Iterable[Prediction]) -> Prediction:
    """Return a copy of a prediction, with the usage of `others` added to its usage."""
    counted = [prediction, *others]
    return replace(prediction, **{name: sum(getattr(p, name) for p in counted) for name in _SUMMED})


def write_predictions(connection: sa.Connection, rows: Sequence[tuple[str, Prediction]]) -> None:
    """Store (run id, prediction) pairs, replacing stored predictions."""
    values = [(run, *_values_of(prediction)) for run, prediction in rows]
    upsert_tuples(connection, PREDICTION, ("run_id", *_WRITTEN), values)


def _upsert_vectors(connection: sa.Connection, rows: Sequence[tuple[str, str, Sequence[float]]]) -> None:
    """Store (run id, item id, probabilities of all options), replacing stored probabilities."""
    values = [(run, item, write_json(list(vector))) for run, item, vector in rows]
    if values:
        upsert_tuples(connection, VECTOR, ("run_id", "item_id", "probabilities"), values)
