"""Read gold items; measure experts' error rates, steadiness, agreement and drift from control questions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from oversight.harness.analysis.inputs import study_items
from oversight.harness.arrays import IntArray
from oversight.harness.columns import ItemIndex
from oversight.harness.config import Study
from oversight.harness.datasets import PRESETS, ItemMapping, Row, iterate_items, read_rows
from oversight.harness.errors import DataError
from oversight.harness.output import did_you_mean, shorten, unguard_cell
from oversight.harness.store import ControlKind, ControlQuestion, GoldItem, Response, Store
from oversight.harness.types import Item, Verdict, find_option

if TYPE_CHECKING:
    from oversight.harness.estimate import Rate, RateChange

_ANSWERS = ("answer", "label")


def read_gold(study: Study) -> list[GoldItem]:
    """Read the file of gold items that study.toml names.

    The result is empty if study.toml names no such file, or if the study is about open answers. A row
    contains either a text and options, or only the ``id`` of one of the study's items. The columns of text
    and options are named as in the study, or ``text`` and ``options``. The column ``answer`` or ``label``
    has the text of the true option. The id of a gold item is computed from its text and options.

    Raises
    ------
    DataError
        If a column or value is missing, an id is unknown to the study, an answer is none of the options, or
        an item occurs twice; the message names file, line and field.
    """
    if study.experts.gold is None or study.is_open:
        return []
    path = study.path(study.experts.gold)
    found: dict[str, GoldItem] = {}
    lines: dict[str, int] = {}
    for row, item in _read_items(study, list(read_rows(path)), lambda _: study_items(study)):
        gold = GoldItem(item, _find_answer(row, item))
        if item.id in lines:
            raise row.error(None, f"the same item as in {row.name_line(lines[item.id])}: text and options")
        found[item.id], lines[item.id] = gold, row.line
    if not found:
        raise DataError("the file contains no gold items", file=path)
    return list(found.values())


def check_gold(study: Study, store: Store) -> None:
    """Check that the file of gold items still gives the answers that were stored when questions were drawn.

    Rows about items that the study has not stored are ignored. If the file no longer exists, nothing is
    checked.

    Raises
    ------
    DataError
        If an answer differs or a row is wrong; the message names file, line and field.
    """
    stored = store.controls.read_gold_items()
    path = None if study.experts.gold is None or study.is_open else study.path(study.experts.gold)
    if not stored or path is None or not path.is_file():
        return

    def find_own(ids: list[str]) -> Iterable[Item]:
        return store.content.find_items(ids).values()

    for row, item in _read_items(study, list(read_rows(path)), find_own, skip_unknown=True):
        if (known := stored.get(item.id)) is None:
            continue
        said, before = item.options[_find_answer(row, item)], known.item.options[known.truth]
        if said != before:
            raise row.error(
                _find_column(row),
                f"the answer to the gold item {shorten(item.text)} is {said!r}, but the study stored "
                f"{before!r} when its questions were drawn, and stored gold answers do not change: put the "
                "stored answer back, or draw the questions in a new database (store under [study])",
            )


def _read_items(
    study: Study,
    rows: list[Row],
    find_own: Callable[[list[str]], Iterable[Item]],
    *,
    skip_unknown: bool = False,
) -> Iterator[tuple[Row, Item]]:
    """Yield each row of the gold file with its item.

    A row without a text has the id of a study's item, which `find_own` finds.
    """
    mapping = _map_columns(study, rows)
    name = study.items.id if rows and study.items.id in rows[0].fields else "id"
    bare = [row for row in rows if not str(row.fields.get(mapping.text) or "").strip()]
    ids = [str(row.fields.get(name) or "").strip() for row in bare]
    own: dict[str, Item] | None = None
    for row in rows:
        if str(row.fields.get(mapping.text) or "").strip():
            fields = {column: value for column, value in row.fields.items() if column != "id"}
            (item,) = iterate_items([replace(row, fields=fields)], mapping, row.file)
        else:
            if name not in row.fields:
                raise row.error(mapping.text, "a gold item needs a text, or the id of an item of the study")
            own = {item.id: item for item in find_own(ids)} if own is None else own
            said = str(row.value(name)).strip()
            if said not in own and skip_unknown:
                continue
            if said not in own:
                raise row.error(name, f"{said!r} is no item of the study{did_you_mean(said, own)}")
            same = {"text": own[said].text, "options": list(own[said].options)}
            (copy,) = iterate_items([replace(row, fields=same)], ItemMapping(), row.file)
            item = replace(own[said], id=copy.id, meta={})
        yield row, replace(item, id=f"gold:{item.id}")


def _map_columns(study: Study, rows: list[Row]) -> ItemMapping:
    """Return the study's column names if the rows have them, otherwise the default names."""
    section, header = study.items, rows[0].fields if rows else {}
    preset = PRESETS.get(section.preset or "")
    options = section.options if isinstance(section.options, str) else tuple(section.options)
    columns = {options} if isinstance(options, str) else {*options}
    return ItemMapping(
        text=section.text if section.text in header else "text",
        classes=tuple(section.classes) or (preset.classes if preset else ()),
        options=options if columns & set(header) else "options",
        shuffle=section.shuffle,
        seed=study.study.seed,
    )


def _find_column(row: Row) -> str:
    return next((name for name in _ANSWERS if name in row.fields), _ANSWERS[0])


def _find_answer(row: Row, item: Item) -> int:
    column = _find_column(row)
    said = str(row.value(column)).strip()
    place = find_option(item.options, said)
    place = find_option(item.options, unguard_cell(said)) if place is None else place
    if place is None:
        told = f"{said!r} is none of its options{did_you_mean(said, item.options)}"
        raise row.error(column, told if said else "is empty; a gold item needs its true option")
    return place


ALL = "all experts"
SAID = {Verdict.YES.value: True, Verdict.NO.value: False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertQuality:
    """One expert's results on control questions; the results of all experts together have the name `ALL`.

    Attributes
    ----------
    asked, answered
        Number of control questions, and number of those answered with yes or no.
    sensitivity
        Share of yes among answers to gold questions about the true option. This share and each share below
        is None if there are no answers from which it can be computed.
    specificity
        Share of no among answers to gold questions about a false option.
    steadiness
        Share of repeated questions with the same answer both times.
    agreement
        Share of equal answers among the questions that this expert and another expert answered, whichever of
        them answered first.
    drift
        Share of right answers in the second half of the gold answers (in order of arrival), minus the share
        in the first half; None with fewer than four gold answers.
    """

    name: str
    asked: int
    answered: int
    sensitivity: Rate | None
    specificity: Rate | None
    steadiness: Rate | None
    agreement: Rate | None
    drift: RateChange | None


@dataclass(frozen=True, slots=True)
class _Said:
    """Yes/no answers of one expert to control questions, in order of arrival.

    `gold` has one pair per gold question: whether it was about the true option, and whether the answer is
    right. `repeats` states for each repeated question whether both answers are equal. For each question that
    two experts answered, `as_first` or `as_second` states whether their answers are equal: `as_first` if this
    expert answered the original question, `as_second` if this expert was the second to be asked.
    """

    gold: list[tuple[bool, bool]]
    repeats: list[bool]
    as_first: list[bool]
    as_second: list[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlAnswers:
    """Control questions with their replies, and the replies to the original questions.

    Attributes
    ----------
    controls
        All control questions.
    replies
        Id of a control question → reply; the entries are in the order in which the replies arrived.
    originals
        Id of a study question → reply, for the questions that were repeated or given to a second expert.
    truth
        Id of a gold item → position of its true option.
    takers
        Id of a reassigned control question → its new expert.
    """

    controls: Sequence[ControlQuestion]
    replies: Mapping[str, Response]
    originals: Mapping[str, Response]
    truth: Mapping[str, int]
    takers: Mapping[str, str] = field(default_factory=dict)

    def report(self, level: float = 0.95) -> tuple[ExpertQuality, ...]:
        """Return the results of every expert with control questions, sorted by name.

        If there are several experts, their joint results follow, with the name `ALL`.
        """
        asked = defaultdict[str, list[ControlQuestion]](list)
        for control in self.controls:
            reply = self.replies.get(control.id)
            holder = self.takers.get(control.id, control.expert)
            asked[holder if reply is None else reply.expert].append(control)
        said = self._read()
        rows = [self._describe(name, own, [said[name]], level) for name, own in sorted(asked.items())]
        if len(rows) > 1:
            rows.append(self._describe(ALL, self.controls, list(said.values()), level))
        return tuple(rows)

    def count_gold(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Count all experts' right and wrong gold answers.

        Returns two pairs (right, wrong): the first for questions about the true option, the second for
        questions about a false option.
        """
        found = Counter(pair for said in self._read().values() for pair in said.gold)
        return (found[True, True], found[True, False]), (found[False, True], found[False, False])

    def find_second(self, index: ItemIndex) -> IntArray:
        """Return the second expert's answer per item, shape (items,): 1 is yes, 0 is no, −1 is no answer."""
        second = np.full(index.size, -1)
        for control in self.controls:
            reply, first = self.replies.get(control.id), self.originals.get(control.original)
            said = None if reply is None else SAID.get(reply.value)
            # after a reassignment, one expert may have answered the original and the overlap question
            is_other = reply is not None and (first is None or first.expert != reply.expert)
            if control.kind is ControlKind.OVERLAP and said is not None and is_other:
                second[index.places[control.item_id]] = int(said)
        return second

    def _read(self) -> dict[str, _Said]:
        found = defaultdict[str, _Said](lambda: _Said([], [], [], []))
        by_id = {c.id: c for c in self.controls}
        for name, reply in self.replies.items():
            control, said = by_id[name], SAID.get(reply.value)
            if said is None:
                continue
            if control.kind is ControlKind.GOLD:
                about_truth = self.truth[control.item_id] == control.option
                found[reply.expert].gold.append((about_truth, said is about_truth))
                continue
            first = self.originals.get(control.original)
            other = None if first is None else SAID.get(first.value)
            if first is None or other is None:
                continue
            if reply.expert == first.expert:
                found[reply.expert].repeats.append(said is other)
            else:
                found[reply.expert].as_second.append(said is other)
                found[first.expert].as_first.append(said is other)
        return found

    def _describe(
        self, name: str, asked: Sequence[ControlQuestion], said: Sequence[_Said], level: float
    ) -> ExpertQuality:
        """Describe the quality of one expert, or of all experts together.

        For all experts together, two experts' answers to the same question count as one pair in the
        agreement.
        """
        from oversight.harness.estimate import compare_rates

        gold = [pair for one in said for pair in one.gold]
        rights = [[ok for _, ok in one.gold] for one in said]
        first = [ok for right in rights for ok in right[: len(right) // 2]]
        last = [ok for right in rights for ok in right[len(right) // 2 :]]
        pairs = [alike for one in said for alike in one.as_second]
        if len(said) == 1:
            pairs += said[0].as_first
        return ExpertQuality(
            name=name,
            asked=len(asked),
            answered=sum(c.id in self.replies and self.replies[c.id].value in SAID for c in asked),
            sensitivity=_rate((ok for about, ok in gold if about), level),
            specificity=_rate((ok for about, ok in gold if not about), level),
            steadiness=_rate((alike for one in said for alike in one.repeats), level),
            agreement=_rate(pairs, level),
            drift=compare_rates(first, last, level) if len(first) > 1 else None,
        )


def read_control_answers(study: Study, store: Store) -> ControlAnswers | None:
    """Read the answers to control questions; None if no control question was drawn.

    Raises
    ------
    DataError
        As in `check_gold`.
    """
    controls = store.controls.read_controls()
    if not controls:
        return None
    check_gold(study, store)
    originals = store.content.replies.find_replies({c.original for c in controls if c.original})
    return ControlAnswers(
        controls=controls,
        replies=store.controls.replies.read_replies(),
        originals=originals,
        truth={name: gold.truth for name, gold in store.controls.read_gold_items().items()},
        takers={name: handed.taker for name, handed in store.people.read_handovers().items()},
    )


def read_quality(study: Study, store: Store) -> tuple[ExpertQuality, ...]:
    """Return the experts' results on a study's control questions; empty without control questions."""
    answers = read_control_answers(study, store)
    return answers.report(study.estimate.level) if answers else ()


def _rate(outcomes: Iterable[bool], level: float) -> Rate | None:
    from oversight.harness.estimate import Rate

    found = list(outcomes)
    return Rate.of_outcomes(found, level) if found else None
