"""Which items of a pool are asked about, where it is larger than what may be asked.

Items are drawn before anybody is asked, each with the same probability, in proportion within strata by how
models agree (`harness.estimate.split_by_agreement`); what of the pool is drawn later is drawn in the same way
from the rest. At any time the items drawn are therefore such a sample of the whole pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from harness import AnyIntArray, BadInput, ConfigError, IntArray, derive_seed
from harness.config import Study
from harness.estimate import (
    draw_in_proportion,
    expected_questions,
    guess_right,
    split_by_agreement,
    vote_posterior,
)
from harness.output import counted
from harness.store import ItemDraw, Store
from harness.types import Item


def keep_drawn_items(store: Store, portions: Iterable[list[Item]]) -> Iterator[list[Item]]:
    """The items of each portion that were drawn; all where the study has no such draw."""
    drawn = store.pool.read_drawn()
    for portion in portions:
        kept = portion if drawn is None else [item for item in portion if item.id in drawn]
        if kept or drawn is None:
            yield kept


def draw_items(study: Study, store: Store, ids: Sequence[str], wanted: int | None, more: int | None) -> None:
    """Draw the items that so many questions pay for, unless they were drawn; then those for more.

    Parameters
    ----------
    ids
        The study's items, all of them stored.
    wanted
        Questions in all at the first draw; None asks about every item.
    more
        Questions to add.

    Raises
    ------
    BadInput
        If the protocol has no use for such a draw, or there is nothing to add to or to draw from.
    ConfigError
        If items or questions were drawn before in another way.
    """
    draws = store.pool.read_draws()
    if not draws and more is not None and wanted is None:
        raise BadInput(
            "--more adds to a draw of items, and this study has none; begin it with --questions, or ask "
            "second questions about items answered no: add --second"
        )
    if not draws and wanted is None:
        return
    if "accuracy" not in study.experts.statement.answers:
        raise BadInput(
            f"questions: the protocol {study.experts.protocol!r} asks only where two models differ, which is "
            "known of every item without a question; there is no draw of items for it"
        )
    if draws:
        _refuse_other_pool(store, ids, draws[0], wanted)
    else:
        _begin_pool(study, store, ids, wanted or 1)
    if more is not None:
        if not store.pool.read_remaining()[0]:
            raise BadInput(
                f"--more: all {draws[0].pool if draws else len(ids)} items were drawn already; "
                "second questions about items answered no: add --second"
            )
        _draw_batch(study, store, more, (draws or store.pool.read_draws())[-1].strata)


def _refuse_other_pool(store: Store, ids: Sequence[str], first: ItemDraw, wanted: int | None) -> None:
    """The pool and its first draw cannot change."""
    if wanted not in (None, first.wanted):
        raise ConfigError(
            f"{first.items} of {first.pool} items were drawn for {first.wanted} questions before, not for "
            f"{wanted}; add to them with: oversight label route --more"
        )
    members = store.pool.read_members()
    new = next((name for name in ids if name not in members), None)
    if new is not None:
        raise ConfigError(
            f"the item {new!r} is not among the {first.pool} that items were drawn from; the pool cannot "
            "change once items are drawn: start a new study"
        )


def _begin_pool(study: Study, store: Store, ids: Sequence[str], wanted: int) -> None:
    if store.content.has_questions():
        raise ConfigError(
            "questions were drawn before about every item; a number of them cannot be set once they are: "
            "start a new study"
        )
    votes = read_votes(study, store, ids)
    stratum: IntArray = np.zeros(len(ids), np.int64)
    strata = "at random, as no model was run"
    if votes.looked_at:
        right = guess_right(votes.predicted, votes.n_options)[:, votes.looked_at]
        stratum = split_by_agreement(right, _count_items(study, wanted, votes))
        strata = f"by the agreement of {counted(votes.predicted.shape[1], 'model')}"
    store.pool.add_pool(ids, stratum)
    _draw_batch(study, store, wanted, strata)


def _draw_batch(study: Study, store: Store, wanted: int, strata: str) -> None:
    """Draw from what remains of the pool, and store it."""
    ids, stratum = store.pool.read_remaining()
    draws = store.pool.read_draws()
    number = _count_items(study, wanted, read_votes(study, store, ids))
    batch = len(draws) + 1
    seed = derive_seed(study.study.seed, "items", str(batch))
    places = draw_in_proportion(stratum, number, np.random.default_rng(seed))
    draw = ItemDraw(
        batch=batch,
        wanted=wanted,
        items=number,
        remaining=len(ids),
        pool=draws[0].pool if draws else len(ids),
        seed=study.study.seed,
        strata=strata,
        created=datetime.now(UTC).isoformat(),
    )
    store.pool.add_draw(draw, [ids[place] for place in places.tolist()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """What models answer to N items.

    Attributes
    ----------
    predicted
        Shape (N, M): options, −1 where a model names none.
    n_options
        Shape (N,): K.
    looked_at
        Columns of the models that the protocol looks at, or of all but judges.
    """

    predicted: AnyIntArray
    n_options: IntArray
    looked_at: list[int]


def read_votes(study: Study, store: Store, ids: Sequence[str]) -> Votes:
    """Read the newest runs of all models that have answers.

    Raises
    ------
    BadInput
        If a model that the study names was not run.
    """
    from harness.analysis import find_newest_runs  # with the estimates, which take long to load

    index, named = store.columns.read_index(), study.experts.models
    places, options = index.find(ids), store.columns.read_options(index)
    n_options = np.array([options[name] for name in ids], np.int64)
    if named:
        find_newest_runs(store, named)
    newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
    runs = {name: run for name, run in newest.items() if store.run_columns.has_answer(run)}
    votes = [store.run_columns.read_run(run, index).predictions.option[places] for run in runs.values()]
    predicted = np.stack(votes, axis=1) if votes else np.zeros((len(ids), 0), np.int64)
    candidates = named or [name for name in runs if name not in study.judges]
    looked_at = [column for column, name in enumerate(runs) if name in candidates]
    return Votes(predicted=np.maximum(predicted, -1), n_options=n_options, looked_at=looked_at)


def _count_items(study: Study, wanted: int, votes: Votes) -> int:
    """How many items so many questions are expected to settle, at least one."""
    n, each = len(votes.n_options), 1.0
    if study.experts.statement.asks_on and votes.looked_at:
        predicted = votes.predicted[:, votes.looked_at]
        accuracy = guess_right(votes.predicted, votes.n_options).mean(axis=0)[votes.looked_at]
        posterior = vote_posterior(predicted, votes.n_options, int(votes.n_options.max()), accuracy=accuracy)
        each = float(expected_questions(predicted, posterior, votes.n_options).mean())
    elif study.experts.statement.estimator == "likelihood":
        each = float(np.minimum(study.experts.options_per_item, votes.n_options).mean())
    return max(1, min(n, int(wanted / each))) if each else n
