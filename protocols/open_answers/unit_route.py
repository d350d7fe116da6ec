"""Draw units of open answers once, and send every due question to the next expert in its queue."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from itertools import groupby
from operator import attrgetter

import numpy as np

from oversight.harness import OPEN_PROTOCOL, BadInput, FloatArray
from oversight.harness.analysis import DesignFreeze, study_items
from oversight.harness.config import Study
from oversight.harness.open_answers import (
    Frame,
    ask_judge,
    draw_questions,
    make_frame,
    match_probabilities,
    read_frame,
    show_answer,
    store_gold_units,
)
from oversight.harness.store import DrawnExpert, Store, refuse_mark
from oversight.harness.types import UNIT_PREFIX, Item, Question, Verdict, draw_place, question_id, seal_ids
from oversight.protocols.routing import ANY_CLASS, InsertedControls, Roster, insert_overlap, read_present

_ANY_FIELD = "any field"
"""Field of experts who judge everything, if no unit names a field."""
_SPLIT = "\x1f"
_DECIDED = (Verdict.YES.value, Verdict.NO.value)
_fields_of = attrgetter(*(field.name for field in fields(Question)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedUnits:
    """Result of drawing questions in a study of open answers.

    Attributes
    ----------
    asked
        Expert → number of questions, over all calls.
    new
        Number of questions that this call added to experts' queues.
    again
        Numbers of the control questions that ask a second expert about a unit.
    drawn, of
        Number of questions drawn, and number of all possible questions.
    answers, units
        Number of answers and number of units in the frame.
    waiting
        Number of drawn questions that may be asked later, depending on answers to other questions.
    """

    asked: Counter[str]
    new: int
    again: InsertedControls
    drawn: int
    of: int
    answers: int
    units: int
    waiting: int


def route_units(study: Study, questions: int | None = None) -> RoutedUnits:
    """Draw units and experts if nothing was drawn yet, and add the due questions to the experts' queues.

    A drawn question is due if it was not asked yet, or if its expert said "not my field" and another expert
    is next in line. With ``draw = "first no"``, the question about an answer's next unit is due only after
    the questions about its earlier units, if they found no error.

    Parameters
    ----------
    questions
        Approximate number of questions to draw; None for all possible questions.

    Raises
    ------
    BadInput
        If no model was run; if `questions` is given although questions were drawn before; if another command
        draws questions meanwhile; or if study.toml requests an overlap although every field has only one
        expert.
    ModelError
        If the splitter or the judge does not reply; replies received before are stored and used next time.
    DataError
        If a rubric is invalid, a field has no expert in the roster, or the file of gold units is invalid or
        differs from the stored gold; nothing is drawn then.
    """
    refuse_mark(study.store_url)
    if questions is not None and questions < 1:
        raise BadInput(f"--questions must be at least 1, is {questions}")
    items = {item.id: item for item in study_items(study)}
    with Store(study.store_url) as store:
        roster, drawn = read_present(study, store), store.open_answers.read_draw()
        if drawn and questions is not None:
            raise BadInput(
                "--questions: this study's draw was already made, and its probabilities cannot change; to "
                "ask the questions that follow from the answers, leave out --questions; for another draw, "
                "start a new study"
            )
        stored = read_frame(store)
        frame = stored if stored.answers else make_frame(study, store)
        ask_judge(study, store, frame, items)
        with store.together(exclusive=True):
            _refuse_other_draw(store, stored, is_drawn=bool(drawn))
            freeze = DesignFreeze(study, store)
            store.content.add_items(items.values())
            if not drawn:
                store.open_answers.add_answers(frame.answers)
                store.open_answers.add_units(frame.units)
                frame = read_frame(store)
                judge = match_probabilities(study, store, frame)
                drawn = draw_units(study, frame, roster, questions or study.experts.questions, judge)
                store.open_answers.add_draw(drawn)
            store_gold_units(study, store, frame)
            draws = store.content.count_draws()
            new = _put_due(study, store, frame, items, draws)
            again = InsertedControls()
            if study.experts.overlap:
                again = insert_overlap(study, store, roster, _find_colleagues(store, frame, roster), draws)
            freeze.end(new + again.new)
        return _describe(store, frame, new, again)


def _refuse_other_draw(store: Store, frame: Frame, *, is_drawn: bool) -> None:
    """Refuse to draw if another command has drawn questions or changed the stored frame meanwhile."""
    if bool(store.open_answers.read_draw()) != is_drawn or read_frame(store) != frame:
        raise BadInput(
            "another command drew this study's questions or changed its units meanwhile; run this command "
            "again"
        )


def draw_units(
    study: Study, frame: Frame, roster: Roster, questions: int | None, judge: FloatArray | None
) -> list[DrawnExpert]:
    """Draw the questions, and a queue of experts for each question.

    Parameters
    ----------
    judge
        A judge's probability that the answer meets the unit, one per row of the frame's table; NaN (unknown)
        counts as 0.5.

    Raises
    ------
    BadInput
        If no question was drawn because `questions` is too small.
    DataError
        If a field has no expert in the roster, or an expert would get more questions than the roster allows.
    """
    table = frame.table
    if judge is not None:
        judge = np.where(np.isnan(judge), 0.5, judge)
    named = [field for field in dict.fromkeys(table.field.tolist()) if field is not None]
    experts = list_experts(roster, named)
    n = questions or int(table.question.max()) + 1
    found = draw_questions(table, n, study.open.draw, study.study.seed, experts=experts, judge=judge)
    drawn = [
        DrawnExpert(
            int(found.row[j]), int(found.attempt[j]), int(found.question[j]), str(found.answer[j]),
            str(found.unit[j]), int(found.order[j]), float(found.propensity[j]),
            *_split_name(found.expert[j], experts),
        )
        for j in range(len(found))
    ]  # fmt: skip
    if not drawn:
        raise BadInput("the draw chose no question; give a larger --questions")
    _check_loads(roster, drawn)
    return drawn


def list_experts(roster: Roster, named: Sequence[str]) -> dict[str, str]:
    """List the pairs of a present expert and a field that the expert judges.

    Returns a mapping from keys to fields; each key joins the name of the expert and the name of the field.

    Parameters
    ----------
    named
        Fields that units name. Experts of other fields are included too, for units of unknown field.

    Raises
    ------
    DataError
        If one of the fields in `named` has no expert.
    """
    others = (name for name in roster.classes if name != ANY_CLASS)
    found = dict[str, str]()
    for field in dict.fromkeys([*named, *others]) or [_ANY_FIELD]:
        able = roster.for_class(field)
        if not able and field in named:
            hint = f'add it to an expert\'s classes, or give one expert classes = ["{ANY_CLASS}"]'
            raise roster.error("classes", f"no expert judges the field {field!r} of a unit; {hint}")
        found |= {f"{expert.name}{_SPLIT}{field}": field for expert in able}
    return found


def _split_name(name: str, experts: Mapping[str, str]) -> tuple[str, str]:
    return name.partition(_SPLIT)[0], experts[name]


def _check_loads(roster: Roster, drawn: Iterable[DrawnExpert]) -> None:
    first = {(row.number, row.expert) for row in drawn if row.attempt == 1}
    loads = Counter(expert for _, expert in first)
    for expert in roster.experts:
        if expert.capacity is not None and loads[expert.name] > expert.capacity:
            told = (
                f"expert {expert.name!r} would be asked {loads[expert.name]} questions, but the capacity is "
            )
            raise roster.error("capacity", f"{told}{expert.capacity}; raise it, or draw fewer questions")


def _put_due(study: Study, store: Store, frame: Frame, items: Mapping[str, Item], draws: int) -> int:
    """Store the questions that are due and not stored yet. Returns their number."""
    answers, units = {a.id: a for a in frame.answers}, {u.id: u for u in frame.units}
    seed, key = study.study.seed, store.controls.ensure_key()
    shown, put = list[Item](), dict[tuple[int, int], Question]()
    for row in _read_due(store, frame).rows:
        answer, unit = answers[row.answer], units[row.unit_id]
        text, question = show_answer(items[answer.item_id], answer, unit)
        name = UNIT_PREFIX + _hash(unit.id, answer.id, str(row.attempt))
        shown.append(Item(name, text, (question,), (0,), {"field": row.field}))
        [sealed] = seal_ids(key, [question_id(OPEN_PROTOCOL, seed, name, 0)])
        put[row.number, row.attempt] = Question(
            id=sealed, item_id=name, option=0, expert=row.expert, n_options=1, protocol=OPEN_PROTOCOL,
            propensity=row.propensity or 1.0, seed=seed, place=draw_place(sealed),
        )  # fmt: skip
    store.content.add_items(shown)
    new = store.content.add_question_fields(map(_fields_of, put.values()), draws)
    store.open_answers.note_questions({row: question.id for row, question in put.items()})
    return new


def _find_colleagues(store: Store, frame: Frame, roster: Roster) -> dict[str, list[str]]:
    """Return, for each asked question, the experts of its field who could be a second expert.

    These experts were not drawn for the question, and the question was not reassigned to them. If a unit's
    field is unknown, the unit's question is included only after an expert answered it with yes or no.
    """
    drawn, units = store.open_answers.read_draw(), {unit.id: unit for unit in frame.units}
    said = store.replies(panel=False).find_values([row.question_id for row in drawn if row.question_id])
    line = defaultdict[int, set[str]](set)
    handed = store.people.read_handovers()
    for row in drawn:
        line[row.number].add(row.expert)
        if row.question_id in handed:
            line[row.number].add(handed[row.question_id].taker)
    return {
        row.question_id: [e.name for e in roster.for_class(row.field) if e.name not in line[row.number]]
        for row in drawn
        if row.question_id
        if units[row.unit_id].field is not None or said.get(row.question_id) in _DECIDED
    }


def _read_due(store: Store, frame: Frame) -> NextQuestions:
    drawn = store.open_answers.read_draw()
    said = store.replies(panel=False).find_values([row.question_id for row in drawn if row.question_id])
    return find_due(drawn, said, {unit.id: unit.points for unit in frame.units})


@dataclass(frozen=True, slots=True, kw_only=True)
class NextQuestions:
    """The questions to ask next.

    Attributes
    ----------
    rows
        Rows of the draw whose question is due now, one per question.
    waiting
        The `number` of each question that may become due when an earlier question is answered.
    """

    rows: Sequence[DrawnExpert]
    waiting: frozenset[int]


def find_due(
    drawn: Sequence[DrawnExpert], said: Mapping[str, str], points: Mapping[str, float]
) -> NextQuestions:
    """Find the questions that are due now.

    Parameters
    ----------
    drawn
        All rows of the draw, in the order of `row` and `attempt`.
    said
        Question → verdict, for answered questions.
    points
        Unit → its points. A unit with negative points describes an error, so an answer should not meet it.
    """
    lines = [list(rows) for _, rows in groupby(drawn, key=lambda row: row.row)]
    due, waiting = dict[int, DrawnExpert](), set[int]()
    for _, chain in groupby(sorted(lines, key=_order_of), key=lambda rows: rows[0].answer):
        is_held = False
        for rows in chain:
            if is_held:
                waiting.add(rows[0].number)
                continue
            verdict, following = follow_line(rows, said)
            if following is not None:
                due.setdefault(following.number, following)
            error = Verdict.NO if points[rows[0].unit_id] > 0 else Verdict.YES
            if rows[0].place and verdict == error.value:
                break
            is_held = bool(rows[0].place) and verdict is None
    return NextQuestions(rows=list(due.values()), waiting=frozenset(waiting - due.keys()))


def _order_of(rows: Sequence[DrawnExpert]) -> tuple[str, int]:
    return rows[0].answer, rows[0].place


def follow_line(
    rows: Sequence[DrawnExpert], said: Mapping[str, str]
) -> tuple[str | None, DrawnExpert | None]:
    """Return a question's final verdict (None if pending) and the row of the next expert to ask (or None).

    An expert who said "not my field" is skipped in later rows that name the same expert for another field.
    """
    passed = set[str]()
    for row in rows:
        if row.expert in passed:
            continue
        if not row.question_id:
            return None, row
        verdict = said.get(row.question_id)
        if verdict != Verdict.SKIP.value:
            return verdict, None
        passed.add(row.expert)
    return Verdict.SKIP.value, None


def _describe(store: Store, frame: Frame, new: int, again: InsertedControls) -> RoutedUnits:
    return RoutedUnits(
        asked=Counter(store.count_asked(panel=False)),
        new=new + again.new,
        again=again,
        drawn=len({row.number for row in store.open_answers.read_draw()}),
        of=int(frame.table.question.max()) + 1,
        answers=len(frame.answers),
        units=len(frame.units),
        waiting=len(_read_due(store, frame).waiting),
    )


def _hash(*parts: str) -> str:
    return sha256("\x1f".join(parts).encode()).hexdigest()[:16]
