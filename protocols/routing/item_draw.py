"""Draw the items to ask about if the pool is larger than the number of questions.

Items are drawn before anybody is asked. With ``draw = "agreement"``, each item has the same probability of
being drawn. Items are stratified by the models' agreement and the judges' certainty
(`oversight.harness.estimate.split_by_agreement`), and each stratum gets draws in proportion to its size.
Later draws take the same proportions of the remaining items, so at any time the drawn items are a
proportional sample of the whole pool. With ``draw = "deviation"``, probabilities are proportional to the
judges' uncertainty about each item (`oversight.harness.estimate.chances_by_deviation`). Later draws also use
the earlier answers to compute this uncertainty. The probabilities are recorded, and
`oversight.harness.columns.weigh_draws` computes each item's weight from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import numpy as np

from oversight.harness import BadInput, ConfigError, FloatArray, IntArray, derive_seed
from oversight.harness.columns import share_of_draw
from oversight.harness.config import Study
from oversight.harness.estimate import (
    chances_by_deviation,
    disagreement,
    draw_in_proportion,
    draw_with_chances,
    expected_questions,
    guess_right,
    split_by_agreement,
    vote_posterior,
)
from oversight.harness.output import counted
from oversight.harness.store import ItemDraw, Store
from oversight.harness.types import Item
from oversight.protocols.routing.draw_information import DrawInformation, read_known


def keep_drawn_items(store: Store, portions: Iterable[list[Item]]) -> Iterator[list[Item]]:
    """Yield the drawn items of each portion; if the study draws no items from a pool, yield all items."""
    drawn = store.pool.read_drawn()
    for portion in portions:
        kept = portion if drawn is None else [item for item in portion if item.id in drawn]
        if kept or drawn is None:
            yield kept


def draw_items(study: Study, store: Store, ids: Sequence[str], wanted: int | None, more: int | None) -> None:
    """Draw enough items for `wanted` questions, or draw further items for `more` questions.

    Parameters
    ----------
    ids
        The study's items, all of them stored.
    wanted
        Number of questions at the first draw; if None, every item is asked about.
    more
        Number of questions to add.

    Raises
    ------
    BadInput
        If there is no draw to extend, no item is left to draw, or the setting ``draw`` cannot be used.
    ConfigError
        If items or questions were drawn before in another way.
    """
    draws = store.pool.read_draws()
    if not draws and more is not None and wanted is None:
        raise BadInput(
            "--more extends a draw of items, but this study has none; start one with --questions, or add "
            "--second to ask second questions about items answered no"
        )
    check_way_of_drawing(study, is_drawn=bool(draws) or wanted is not None)
    if not draws and wanted is None:
        return
    if draws:
        _refuse_other_pool(store, ids, draws[0], wanted)
    else:
        _begin_pool(study, store, ids, wanted or 1)
    if more is not None:
        if not store.pool.read_remaining()[0]:
            raise BadInput(
                f"--more: all {draws[0].pool if draws else len(ids)} items were drawn already; add --second "
                "to ask second questions about items answered no"
            )
        _draw_batch(study, store, more)


def check_way_of_drawing(study: Study, *, is_drawn: bool) -> None:
    """Raise an error if the study's setting ``draw`` under [experts] cannot be used.

    Raises
    ------
    BadInput
        If ``draw`` cannot be used; the message gives the reason.
    """
    experts, way = study.experts, f"draw = {study.experts.draw!r}"
    if "draw" in experts.model_fields_set and not is_drawn:
        raise BadInput(f"{way} says how items are drawn, but every item is asked about; give --questions")
    if experts.draw != "deviation":
        return
    if "accuracy" not in experts.statement.answers or experts.options_per_item > 1:
        what = f"the protocol {experts.protocol!r}"
        if experts.options_per_item > 1:
            what += f" with options_per_item = {experts.options_per_item}"
        raise BadInput(
            f'{way} gives items weights, which estimates of {what} cannot use; use draw = "agreement"'
        )
    if not study.judges:
        raise BadInput(f'{way} uses judges, but the study names none: set judge = "name" under [models]')
    if study.items.cluster is not None:
        raise BadInput(
            f"{way} gives each item a weight of its own, but these items are in clusters; use draw = "
            '"agreement"'
        )
    if experts.has_controls or experts.knows_errors:
        raise BadInput(
            f"{way} assumes experts who do not err, so it allows neither control questions nor ranges of "
            'sensitivity and specificity; use draw = "agreement"'
        )


def _refuse_other_pool(store: Store, ids: Sequence[str], first: ItemDraw, wanted: int | None) -> None:
    """Raise an error if the items or the number of questions do not fit the first draw.

    Every item in `ids` must be in the pool of the first draw. `wanted`, if given, must be the number of
    questions of the first draw.
    """
    if wanted not in (None, first.wanted):
        raise ConfigError(
            f"the first draw was for {first.wanted} questions ({first.items} of {first.pool} items), not for "
            f"{wanted}; draw more with: oversight label route --more"
        )
    members = store.pool.read_members()
    new = next((name for name in ids if name not in members), None)
    if new is not None:
        raise ConfigError(
            f"the item {new!r} is not among the {first.pool} items of the pool; the pool cannot "
            "change once items are drawn: start a new study"
        )


def _begin_pool(study: Study, store: Store, ids: Sequence[str], wanted: int) -> None:
    if store.content.has_questions():
        raise ConfigError(
            "questions about all items were already drawn, so their number can no longer be set; start a new "
            "study"
        )
    stratum: IntArray = np.zeros(len(ids), np.int64)
    if study.experts.draw == "agreement":
        known = read_known(study, store, ids)
        if known.looked_at:
            stratum = split_by_agreement(_values_of(study, known), _count_items(study, wanted, known))
    store.pool.add_pool(ids, stratum)
    _draw_batch(study, store, wanted)


def _values_of(study: Study, known: DrawInformation) -> FloatArray:
    """Return the values by which N items are stratified for a proportional draw, one row per item."""
    found = [known.guess_by_votes()]
    if known.opinions:
        found.append(known.guess_by_judges())
    if "accuracy" not in study.experts.statement.answers:
        differ = disagreement(known.predicted[:, known.looked_at])[:, None].astype(np.float64)
        found = [differ, *((each[:, :1] - each[:, 1:2]) * differ for each in found)]
    return np.concatenate(found, axis=1)


def _draw_batch(study: Study, store: Store, wanted: int) -> None:
    """Draw items for `wanted` questions from the items that were not drawn yet, and store the draw."""
    ids, stratum = store.pool.read_remaining()
    draws = store.pool.read_draws()
    batch, pool = len(draws) + 1, draws[0].pool if draws else len(ids)
    rng = np.random.default_rng(derive_seed(study.study.seed, "items", str(batch)))
    chances: list[float] | None = None
    if study.experts.draw == "deviation":
        number, places, chance, words = _draw_by_deviation(study, store, ids, wanted, pool, rng)
        chances = chance.tolist()
    else:
        known = read_known(study, store, ids)
        number = _count_items(study, wanted, known)
        within = None
        if known.looked_at:
            within = split_by_agreement(_values_of(study, known), number, each=1)
        places = draw_in_proportion(stratum, number, rng, within=within)
        words = draws[0].strata if draws else _tell_strata(known)
    draw = ItemDraw(
        batch=batch,
        wanted=wanted,
        items=number,
        remaining=len(ids),
        pool=pool,
        seed=study.study.seed,
        strata=words,
        created=datetime.now(UTC).isoformat(),
    )
    store.pool.add_draw(draw, [ids[place] for place in places.tolist()], chances)


def _draw_by_deviation(
    study: Study, store: Store, ids: Sequence[str], wanted: int, pool: int, rng: np.random.Generator
) -> tuple[int, IntArray, FloatArray, str]:
    """Return the number of items to draw, the drawn items, their probabilities, and a description.

    The drawn items are given by their positions in `ids`. The description says how they were drawn.

    Raises
    ------
    BadInput
        If no model except judges was run, or a judge was not run.
    """
    everything = sorted(store.pool.read_members())
    known = read_known(study, store, everything, asked=len(ids) < pool)
    if known.not_run or not known.judges:
        raise BadInput(f'draw = "deviation" uses judges, but {known.not_run or "none was run"}')
    if not known.looked_at:
        raise BadInput('draw = "deviation" needs predictions: no model except judges was run yet')
    here = dict(zip(everything, range(pool), strict=True))
    right = known.guess_by_judges()[[here[name] for name in ids]]
    number = _count_items(study, wanted, read_known(study, store, ids))
    most = share_of_draw(number, pool - len(ids), len(ids), pool)
    deviation = np.sqrt((right * (1 - right)).mean(axis=1))
    chance = chances_by_deviation(deviation, number, most=most)
    places = draw_with_chances(chance, right.mean(axis=1), rng)
    words = f"by how unsure {known.tell_judges()} leaves them"
    if known.answers is not None:
        words += f" and {counted(len(known.answers.item), 'answer')} so far"
    return number, places, chance[places], words


def _tell_strata(known: DrawInformation) -> str:
    if not known.looked_at:
        return "at random, as no model was run"
    words = f"by the agreement of {counted(known.predicted.shape[1], 'model')}"
    if known.judges:
        words += f" and how sure {known.tell_judges()} is"
    return words + (f" ({known.not_run})" if known.not_run else "")


def _count_items(study: Study, wanted: int, known: DrawInformation) -> int:
    """Return the expected number of items for which `wanted` questions are enough, at least one."""
    n, each = len(known.n_options), 1.0
    if "accuracy" not in study.experts.statement.answers:
        each = float(disagreement(known.predicted[:, known.looked_at]).mean()) if known.looked_at else 0.0
    elif study.experts.statement.asks_on and known.looked_at:
        predicted = known.predicted[:, known.looked_at]
        accuracy = guess_right(known.predicted, known.n_options).mean(axis=0)[known.looked_at]
        posterior = vote_posterior(predicted, known.n_options, int(known.n_options.max()), accuracy=accuracy)
        each = float(expected_questions(predicted, posterior, known.n_options).mean())
    elif study.experts.statement.estimator == "weighted" and len(known.looked_at) == 1:
        # An unreadable prediction needs no question. With the draw "deviation", such items are seldom drawn.
        if study.experts.draw != "deviation":
            each = float((known.predicted[:, known.looked_at] >= 0).mean())
    elif study.experts.statement.estimator == "likelihood":
        each = float(np.minimum(study.experts.options_per_item, known.n_options).mean())
    return max(1, min(n, int(wanted / each))) if each else n
