"""Draw second questions, about another option of items whose first answer was no.

The draw depends on first answers and predictions. Items are drawn with recorded probabilities ρ, proportional
to the expected information of a second answer under the models' votes
(`oversight.harness.estimate.second_rates`). Then one of the remaining options is drawn with recorded
probabilities. Each propensity of a question is ρ times the probability of the option. An item needs no second
question after a yes, or after a no if the item has only two options.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness import BadInput, ConfigError, FloatArray, IntArray, derive_seed, name_protocol
from oversight.harness.columns import ABSTAINED, NO, LabelColumns
from oversight.harness.config import Study
from oversight.harness.estimate import (
    accuracy_target,
    flat_posterior,
    guess_right,
    item_variance,
    second_rates,
    vote_posterior,
)
from oversight.harness.output import counted
from oversight.harness.store import ItemDraw, Store
from oversight.harness.types import SECOND_QUESTIONS, draw_place, question_id
from oversight.protocols.routing.control_draw import InsertedControls
from oversight.protocols.routing.draw_information import DrawInformation, read_known
from oversight.protocols.routing.partitioned import FreeExperts
from oversight.protocols.routing.roster import Roster
from oversight.protocols.routing.routing_protocol import QuestionFields
from oversight.protocols.routing.sealed_ids import seal_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondDraw:
    """Summary of a draw of second questions.

    Attributes
    ----------
    questions
        The drawn second questions, each as a tuple of its fields.
    left
        Number of items for which a second answer would be informative.
    narrower
        Expected standard error of the models' estimates with second questions, divided by their standard
        error without them. The expectation uses probabilities from the models' votes. Without votes, the
        value is 1.
    """

    questions: Sequence[QuestionFields]
    left: int
    narrower: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawSummary:
    """Summary of a draw of questions or assignments.

    Attributes
    ----------
    asked
        Person → number of questions or assignments.
    new
        Number of these questions or assignments that were not stored before.
    items
        Number of items of the study.
    each, annotators
        In a panel, the number of annotators per item, and the number of all annotators; 0 in other studies.
    controls
        Numbers of control questions; None if study.toml requests none. `asked` and `new` include these
        questions.
    draws
        Draws of items from a pool, in order; empty if every item is asked about.
    second
        The second questions drawn so far; None if none were drawn. `asked` and `new` include these questions.
    """

    asked: Counter[str]
    new: int
    items: int
    each: int = 0
    annotators: int = 0
    controls: InsertedControls | None = None
    draws: Sequence[ItemDraw] = ()
    second: SecondDraw | None = None


def draw_second_questions(study: Study, store: Store, roster: Roster, wanted: int) -> SecondDraw:
    """Draw `wanted` second questions, or fewer if fewer items could get one.

    Raises
    ------
    BadInput
        If the protocol does not allow second questions, if first questions are open, if nothing is left to
        ask, or if nobody with capacity left can judge a drawn option.
    ConfigError
        If second questions were drawn before.
    """
    _refuse(study, store)
    index = store.columns.read_index()
    labels = store.columns.read_labels(index)
    waiting = int(np.count_nonzero(labels.answers < 0))
    if waiting:
        raise BadInput(
            f"--second: no answer yet to {counted(waiting, 'first question')}, but second questions are "
            "about items whose first answer was no; wait for the first answers, or have experts skip the "
            "questions"
        )
    names = index.ids
    rows = np.flatnonzero((labels.kind == NO) & (labels.questions.n_options > 2))
    rows = rows[np.argsort(labels.item[rows], kind="stable")]
    votes = read_known(study, store, names)
    predicted = votes.predicted[:, votes.looked_at].astype(np.int64)
    if rows.size and _asks_for_one(labels, predicted):
        rows = rows[:0]
    if not rows.size:
        raise BadInput(
            "--second: nothing is left to ask: a second question needs a first answer of no about an item "
            "with more than two options; if all first questions were about the predictions of the study's "
            "only model, no second questions are needed"
        )
    posterior = _weigh_votes(votes)
    item, option, k = labels.item[rows], labels.option[rows], labels.questions.n_options[rows]
    left = np.arange(posterior.shape[1]) < k[:, None]
    left[np.arange(rows.size), option] = False
    number = min(wanted, rows.size)
    first = _first_variances(labels, predicted, posterior)
    rates = second_rates(predicted[item], posterior[item], left, number, first=first)
    rng = np.random.default_rng(derive_seed(study.study.seed, SECOND_QUESTIONS))
    drawn = _draw_by_size(rates.chance, rng)
    before = [*store.content.read_questions(), *(c.question for c in store.controls.read_controls())]
    load, met = Counter(q.expert for q in before), defaultdict[str, set[str]](set)
    handed = store.people.read_handovers()
    for question in before:
        met[question.item_id] |= {question.expert} | {h.taker for h in (handed.get(question.id),) if h}
    free, items = FreeExperts(roster, load), {one.id: one for one in store.content.read_items()}
    questions = list[QuestionFields]()
    for row in drawn.tolist():
        about, seed = items[names[item[row]]], study.study.seed
        draw = np.random.default_rng(derive_seed(seed, SECOND_QUESTIONS, about.id))
        shares = rates.shares[row]
        asked = int(draw.choice(len(shares), p=shares / shares.sum()))
        expert = free.draw(about, asked, draw.integers, met[about.id])
        each = tuple(float(rates.chance[row] * share) for share in shares[: k[row]])
        name = question_id(SECOND_QUESTIONS, seed, about.id, asked)
        questions.append(
            (
                *(name, about.id, asked, expert, int(k[row]), SECOND_QUESTIONS, each[asked], seed, each),
                draw_place(name),
            )
        )
    sealed = seal_fields(store.controls.read_key(), questions)
    return SecondDraw(questions=sealed, left=int(rows.size), narrower=rates.narrower)


def refuse_first_after_second(store: Store, new: int) -> None:
    """Raise an error if items would get first questions after second questions were drawn.

    `new` is the number of these items. They could not get second questions any more.
    """
    if new and store.content.read_questions(second=True):
        raise ConfigError(
            f"{counted(new, 'item')} would get a first question but no second question, because second "
            "questions were drawn before: start a new study for new items"
        )


def _refuse(study: Study, store: Store) -> None:
    protocol, statement = study.experts.protocol, study.experts.statement
    first, why = store.content.read_questions(second=False), ""
    if statement.asks_on:
        why = "asks until every item is resolved; route again for its next questions"
    elif "accuracy" not in statement.answers:
        why = (
            "asks only about items on which two models differ, but second questions serve to estimate "
            "an accuracy"
        )
    elif protocol == name_protocol("Targeted"):
        why = (
            "asks first questions about few options, so intervals with second questions would "
            "cover too rarely"
        )
    elif len({question.item_id for question in first}) < len(first):
        why = "asks several first questions about an item, but second questions need items with only one"
    if why:
        raise BadInput(f"--second: the protocol {protocol!r} {why}")
    if there := len(store.content.read_questions(second=True)):
        raise ConfigError(
            f"--second: {counted(there, 'second question')} were drawn before; a study draws "
            "them only once, because another draw would depend on their answers"
        )
    if not first:
        raise BadInput("--second: no questions yet; draw the first ones with: oversight label route")


def _asks_for_one(labels: LabelColumns, predicted: IntArray) -> bool:
    """Whether the study has one model, and every question had to be about this model's prediction.

    If so, a no shows that the model's prediction is wrong.
    """
    if predicted.shape[1] != 1 or labels.is_uniform:
        return False
    own = predicted[labels.item, 0] == labels.option
    return bool((own & (labels.questions.propensity > 1 - 1e-9)).all())


def _weigh_votes(votes: DrawInformation) -> FloatArray:
    width = int(votes.n_options.max())
    if not votes.predicted.shape[1]:
        return flat_posterior(votes.n_options, width)
    accuracy = guess_right(votes.predicted, votes.n_options).mean(axis=0)
    return vote_posterior(votes.predicted, votes.n_options, width, accuracy=accuracy)


def _first_variances(
    labels: LabelColumns, predicted: IntArray, posterior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return two variances per model, each summed over the items with a first answer.

    The first is the variance of the accuracy estimate. The second is the variance of the model's correctness
    (1 if right, otherwise 0).
    """
    rows = np.flatnonzero(labels.kind != ABSTAINED)
    item, said = labels.item[rows], labels.questions.take(rows)
    p, k = posterior[item], said.n_options[:, None]
    propensities = np.where(np.arange(p.shape[1]) < k, said.propensity[:, None], 0.0)
    number = said.offered.number
    each = np.repeat(np.arange(rows.size), number)
    column = np.arange(said.offered.values.size) - np.repeat(said.offered.start[:-1], number)
    propensities[each, column] = said.offered.values
    plain, known = list[float](), list[float]()
    for column_of in predicted.T:
        c = accuracy_target(column_of[item], p.shape[1])
        top = (c * p).sum(axis=1)
        known.append(float((top * (1 - top)).sum()))
        # Bound small propensities from below; this affects only the plan of the draw.
        plain.append(float(item_variance(c, np.maximum(propensities, 1e-3), p).sum()))
    return np.array(plain), np.array(known)


def _draw_by_size(chance: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw positions without replacement with these probabilities, by systematic sampling in random order."""
    order = rng.permutation(len(chance))
    ends = np.cumsum(chance[order])
    ticks = np.arange(round(float(ends[-1]))) + rng.random()
    places = np.minimum(np.searchsorted(ends, ticks, side="right"), len(chance) - 1)
    found: IntArray = np.sort(order[np.unique(places)])
    return found
