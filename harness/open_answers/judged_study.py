"""Read the experts' judgements of a study of open answers into a table, and estimate from it.

Gold units are units whose truth is known. The truth is stored when questions are drawn, and does not change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from oversight.harness.analysis import advise_on_texts, study_clusters
from oversight.harness.arrays import FloatArray
from oversight.harness.columns import RELEVANT_EXCESS, count_repeated, digest_text
from oversight.harness.config import Study
from oversight.harness.datasets import Row
from oversight.harness.errors import BadInput, DataError
from oversight.harness.open_answers.answer_frame import Frame, collect_answers, read_frame
from oversight.harness.open_answers.draw import Draw, join_replies
from oversight.harness.open_answers.estimates import OpenResult, estimate_open
from oversight.harness.open_answers.model_judge import read_judge
from oversight.harness.open_answers.rubric_files import iterate_unit_key, read_probabilities
from oversight.harness.open_answers.units import (
    CANNOT_TELL,
    NO,
    NOT_MY_FIELD,
    YES,
    Judgements,
    UnitTable,
    object_column,
)
from oversight.harness.output import counted, did_you_mean, shorten
from oversight.harness.store import DrawnExpert, GoldItem, Store, StoredAnswer, StoredUnit
from oversight.harness.types import Item, Verdict

_LABELS = (YES, NO)
_Unit = tuple[StoredAnswer, StoredUnit]


def store_gold_units(study: Study, store: Store, frame: Frame) -> int:
    """Store the gold units of the file that study.toml names. Returns how many are new.

    Raises
    ------
    BadInput
        If the file does not exist.
    DataError
        If the file has no rows, a row fits no unit of the study, a label is wrong, or a label differs from
        the stored one. The message names file, line and field.
    """
    if study.experts.gold is None:
        return 0
    gold = _read_gold(study.path(study.experts.gold), frame, store.controls.read_gold_items())
    return store.controls.add_gold_items(item for item, _ in gold.values())


def read_truth(study: Study, store: Store, frame: Frame) -> dict[tuple[str, str], str]:
    """Return (id of the answer, id of the unit) → stored true reply, "yes" or "no".

    The file of gold units is compared with the stored replies. If it no longer exists, nothing is compared.

    Raises
    ------
    DataError
        As in `store_gold_units`, or if the file has a unit whose truth is not stored.
    """
    stored = store.controls.read_gold_items()
    path = None if study.experts.gold is None else study.path(study.experts.gold)
    if path is not None and path.is_file():
        for name, (_, row) in _read_gold(path, frame, stored).items():
            if name not in stored:
                told = "the truth of this unit is not stored yet; store it with: oversight label route"
                raise row.error("label", told)
    names = {_name_gold(answer, unit): (answer.id, unit.id) for answer, unit in frame.pairs}
    return {names[name]: _LABELS[gold.truth] for name, gold in stored.items()}


def _read_gold(path: Path, frame: Frame, stored: Mapping[str, GoldItem]) -> dict[str, tuple[GoldItem, Row]]:
    """Return the gold items of a file by id, each with its row, after a comparison with the stored ones."""
    found, known = dict[str, tuple[GoldItem, Row]](), _list_units(frame)
    for row, about, label, _ in iterate_unit_key(path):
        truth = _LABELS.index(label)
        for answer, unit in _find_units(row, about, known):
            name = _name_gold(answer, unit)
            if name in found and found[name][0].truth != truth:
                other = row.name_line(found[name][1].line)
                raise row.error("label", f"the unit {shorten(unit.text)} has another label in {other}")
            if name in stored and stored[name].truth != truth:
                before = _LABELS[stored[name].truth]
                raise row.error(
                    "label",
                    f"the truth of the unit {shorten(unit.text)} is {label!r}, but the study stored "
                    f"{before!r} when its questions were drawn, and stored gold does not change: put the "
                    "stored label back, or draw the questions in a new database (store under [study])",
                )
            item = Item(name, unit.text, _LABELS, (0, 1))
            found[name] = GoldItem(item, truth), row
    if not found:
        raise DataError("the file contains no gold units", file=path)
    return found


_Known = Mapping[str, Mapping[str, Mapping[str, Sequence[_Unit]]]]
"""Item → model → id or text of a unit → units of the model's answer."""


def _list_units(frame: Frame) -> _Known:
    known: dict[str, dict[str, dict[str, list[_Unit]]]] = defaultdict(dict)
    for answer, unit in frame.pairs:
        units = known[answer.item_id].setdefault(answer.model, {})
        for name in (unit.id, unit.text.strip()):
            units.setdefault(name, []).append((answer, unit))
    return known


def _find_units(row: Row, about: tuple[str, str, str], known: _Known) -> Sequence[_Unit]:
    """Return the units that a row is about: several if an answer has several units of this text."""
    item, model, name = about
    if item not in known:
        told = f"{item!r} is no item with units of an answer{did_you_mean(item, known)}"
        raise row.error("item", told)
    if model not in known[item]:
        told = f"{model!r} has no answer to {item!r}{did_you_mean(model, known[item])}"
        raise row.error("model", told)
    units = known[item][model]
    if name not in units:
        told = f"{shorten(name)} is no unit of the answer of {model!r} to {item!r}{did_you_mean(name, units)}"
        raise row.error("unit", told)
    return units[name]


def _name_gold(answer: StoredAnswer, unit: StoredUnit) -> str:
    return f"gold:{answer.id}:{unit.id}"


_REPLIES = {
    Verdict.YES.value: YES,
    Verdict.NO.value: NO,
    Verdict.UNSURE.value: CANNOT_TELL,
    Verdict.SKIP.value: NOT_MY_FIELD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStudy:
    """Experts' judgements of the answers of a study.

    Attributes
    ----------
    frame
        All answers and units.
    drawn
        Queue of experts of every question; one row per question and expert.
    judgements
        Every unit of every answer, with the experts' replies. Rows of second experts have no propensity,
        because their replies are only used to measure error rates.
    experts
        Expert → field. An expert who was drawn for several fields occurs under a separate name for each
        field.
    judge
        A judge's probability that the unit of each row of `judgements` is met; None without a judge.
    answered
        Number of questions with a reply.
    later
        Model → sentence that says how many of its answers came after the draw and are therefore not judged.
    clusters
        Item → cluster, from the column that study.toml names; empty if items are independent.
    repeated
        Warning that intervals may be too narrow, because many items share their texts; otherwise empty.
    """

    frame: Frame
    drawn: Sequence[DrawnExpert]
    judgements: Judgements
    experts: Mapping[str, str]
    judge: FloatArray | None
    answered: int
    later: Mapping[str, str]
    clusters: Mapping[str, str] = field(default_factory=dict)
    repeated: str = ""

    @property
    def put(self) -> int:
        """Number of questions that experts were asked."""
        return len({row.question_id for row in self.drawn if row.question_id})


def read_judged(study: Study, store: Store) -> JudgedStudy:
    """Read a study's judgements.

    Raises
    ------
    BadInput
        If no question was drawn yet.
    DataError
        If the file of gold units is invalid or differs from the stored gold, or if study.toml names a cluster
        column and an item has no cluster.
    """
    frame, drawn = read_frame(store), store.open_answers.read_draw()
    if not drawn:
        raise BadInput("no questions yet; draw them with: oversight label route")
    said = store.replies(panel=False).find_values([row.question_id for row in drawn if row.question_id])
    table, names = frame.table, _name_experts(drawn)
    truth = read_truth(study, store, frame)
    gold = object_column(truth.get(row) for row in table.pairs)
    judgements = join_replies(table, _make_draw(drawn, names), _list_replies(drawn, said), gold=gold)
    judgements = _append_seconds(store, judgements, drawn, names)
    probabilities = match_probabilities(study, store, frame)
    clusters = study_clusters(study)
    for answer in frame.answers if clusters else ():
        if answer.item_id not in clusters:
            told = f"the item {answer.item_id!r} has no cluster, because the items' source no longer has it"
            raise DataError(told, file=study.items.file, field=study.items.cluster)
    return JudgedStudy(
        frame=frame,
        drawn=drawn,
        judgements=judgements,
        experts={name: row.field for name, row in zip(names, drawn, strict=True)},
        answered=len(said),
        later=_find_later(study, store, frame),
        judge=None if probabilities is None else _spread(probabilities, table, judgements),
        clusters=clusters,
        repeated=_find_repeated(study, store, judgements, clusters),
    )


def _find_repeated(study: Study, store: Store, judgements: Judgements, clusters: Mapping[str, str]) -> str:
    """Return a warning if many asked items share their texts with items of other clusters."""
    items = store.content.find_items(set(judgements.item[judgements.asked].tolist()))
    digests = [digest_text(item.text, item.options) for item in items.values()]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters.values()))}
    cluster = np.array([numbers[clusters[name]] for name in items]) if clusters else None
    found = count_repeated(np.array(digests, dtype=np.int64), cluster)
    if found.excess <= RELEVANT_EXCESS:
        return ""
    return (
        f"{found.items} of {len(items)} judged items share their text with another item, but are treated as "
        f"independent; {advise_on_texts(study)}"
    )


def _append_seconds(
    store: Store, judgements: Judgements, drawn: Sequence[DrawnExpert], names: Sequence[str]
) -> Judgements:
    """Append a row for every yes or no that a second expert gave to another expert's question."""
    controls = store.controls.read_controls()
    if not controls:
        return judgements
    replies = store.controls.replies.read_replies()
    firsts = store.replies(panel=False).find_replies({control.original for control in controls})
    number = {row.question_id: (row.number, row.field) for row in drawn if row.question_id}
    name_of = {(row.expert, row.field): name for row, name in zip(drawn, names, strict=True)}
    found = list[tuple[int, str, str]]()
    for control in controls:
        reply, first = replies.get(control.id), firsts.get(control.original)
        said = None if reply is None else _REPLIES.get(reply.value)
        # After a reassignment, both replies may be from one expert.
        if reply is not None and said in (YES, NO) and (first is None or first.expert != reply.expert):
            question, field = number[control.original]
            found.append((question, name_of.get((reply.expert, field), reply.expert), said))
    row_of = {question: row for row, question in enumerate(judgements.question.tolist())}
    seconds = replace(
        judgements.take(np.array([row_of[question] for question, _, _ in found], np.int64)),
        asked=np.ones(len(found), dtype=bool),
        propensity=np.full(len(found), np.nan),
        order=np.zeros(len(found), np.int64),
        expert=object_column(name for _, name, _ in found),
        reply=object_column(said for _, _, said in found),
    )
    return judgements.append(seconds)


def _find_later(study: Study, store: Store, frame: Frame) -> dict[str, str]:
    """Return model → message, for models whose answers have changed since the questions were drawn."""
    drawn = {(answer.item_id, answer.model): answer.id for answer in frame.answers}
    try:
        now = collect_answers(study, store)
    # The answers cannot be collected, for example because a model in study.toml has no answers.
    except BadInput:
        return {}
    later = Counter(a.model for a in now if drawn.get((a.item_id, a.model)) != a.id)
    return {
        model: (
            f"{model}: {counted(n, 'answer')} arrived after the draw and cannot be judged; start a new "
            "study to include them"
        )
        for model, n in sorted(later.items())
    }


def _name_experts(drawn: Sequence[DrawnExpert]) -> list[str]:
    """Return the name of each row's expert, with the field if the expert was drawn for several fields."""
    fields = defaultdict[str, set[str]](set)
    for row in drawn:
        fields[row.expert].add(row.field)
    return [f"{r.expert} ({r.field})" if len(fields[r.expert]) > 1 else r.expert for r in drawn]


def _make_draw(drawn: Sequence[DrawnExpert], names: Sequence[str]) -> Draw:
    return Draw(
        question=np.array([row.number for row in drawn], np.int64),
        row=np.array([row.row for row in drawn], np.int64),
        answer=object_column(row.answer for row in drawn),
        unit=object_column(row.unit_id for row in drawn),
        propensity=np.array([row.propensity for row in drawn]),
        order=np.array([row.place for row in drawn], np.int64),
        expert=object_column(names),
        attempt=np.array([row.attempt for row in drawn], np.int64),
    )


def _list_replies(drawn: Sequence[DrawnExpert], said: Mapping[str, str]) -> list[str | None]:
    """Return each drawn expert's reply: None if the reply is outstanding, empty if the expert was not asked.

    An expert who is drawn for several fields is asked once. If the reply is "not my field", it counts for
    each of these fields.
    """
    passed = {(row.number, row.expert) for row in drawn if said.get(row.question_id) == Verdict.SKIP.value}
    found = list[str | None]()
    for row in drawn:
        if row.question_id:
            found.append(_REPLIES.get(said.get(row.question_id, "")))
        else:
            found.append(NOT_MY_FIELD if (row.number, row.expert) in passed else "")
    return found


def match_probabilities(study: Study, store: Store, frame: Frame) -> FloatArray | None:
    """Return a judge's probability that each unit of the frame's table is met; None without a judge.

    A probability is NaN if the judge is a model whose reply contains no probability.

    Raises
    ------
    BadInput
        If the judge is a model that was not asked yet, or a file without an entry for a unit.
    """
    if not study.open.judge:
        return None
    by_model = study.open.judge in study.models
    said = read_judge(study, store, frame) if by_model else _match_file(study, frame)
    table, texts = frame.table, {unit.id: unit.text for unit in frame.units}
    found = np.array([said.get(row, np.inf) for row in table.pairs])
    for row in np.flatnonzero(np.isinf(found))[:1].tolist():
        told = f"no probability for the unit {texts[table.unit[row]]!r} of {table.model[row]!r}"
        raise BadInput(f"{study.open.judge}: {told}, item {table.item[row]!r}")
    return found


def _match_file(study: Study, frame: Frame) -> dict[tuple[str, str], float]:
    """Return a mapping of pairs (answer id, unit id) to the probabilities in the study's file."""
    said, found = read_probabilities(study), dict[tuple[str, str], float]()
    for answer, unit in frame.pairs:
        about = (answer.item_id, answer.model)
        value = said.get((*about, unit.id), said.get((*about, unit.text)))
        if value is not None:
            found[answer.id, unit.id] = value
    return found


def _spread(probabilities: FloatArray, table: UnitTable, judgements: Judgements) -> FloatArray:
    """Return the probability for each row of `judgements`; `probabilities` has one per row of `table`."""
    known = dict(zip(table.pairs, probabilities.tolist(), strict=True))
    return np.array([known[row] for row in judgements.pairs])


def estimate_study(study: Study, judged: JudgedStudy, **options: Any) -> OpenResult:
    """Estimate scores, shares of met units, shares of answers without an error, and differences of models.

    `options` are those of `oversight.harness.open_answers.estimate_open`; they replace the study's settings.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judgements
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.open_answers import Frame
    >>> judged = example_judgements()
    >>> given = {"drawn": (), "judge": None, "answered": 12, "later": {}}
    >>> frame = Frame(answers=(), units=())
    >>> study = JudgedStudy(frame=frame, judgements=judged, experts={"ann": "law"}, **given)
    >>> estimate_study(read_study("study.toml"), study).find_estimate("met", "m").value
    0.75
    """
    given = {"level": study.estimate.level, "judge": judged.judge, **options}
    return estimate_open(
        judged.judgements,
        experts=judged.experts,
        cluster=judged.clusters,
        doubt=judged.repeated,
        **given,
    )
