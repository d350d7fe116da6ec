"""Control questions: gold items, what they tell of every expert, and how estimates use that.

They give experts' error rates, steadiness, agreement and drift; estimates are corrected by them, or say that
experts err.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from oversight.harness.analysis.inputs import study_items
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import ItemIndex, LabelColumns, PredictionColumns
from oversight.harness.config import Study
from oversight.harness.datasets import PRESETS, ItemMapping, Row, iterate_items, read_rows
from oversight.harness.errors import DataError
from oversight.harness.estimate import ErrorRanges, GoldAnswer, GoldCounts, Rate
from oversight.harness.output import did_you_mean, unguard_cell
from oversight.harness.store import ControlKind, ControlQuestion, GoldItem, Response, Store
from oversight.harness.types import CORRECTED, Estimate, Item, Verdict, find_option

if TYPE_CHECKING:
    from oversight.harness.estimate import Rate, RateChange

_ANSWERS = ("answer", "label")


def read_gold(study: Study) -> list[GoldItem]:
    """Read the gold items that study.toml names; none if it names none.

    A row has the item's own text and options, in columns called as the study's are or ``text, options``; or
    only the ``id`` of an item of the study. The true option's text is in ``answer`` (or ``label``). Each gets
    an id made of text and options.

    Raises
    ------
    DataError
        Naming file, line and field: a column or value is missing, an id is no item's of the study, an answer
        is none of the options, or an item is there twice.
    """
    if study.experts.gold is None:
        return []
    path = study.path(study.experts.gold)
    found: dict[str, GoldItem] = {}
    lines: dict[str, int] = {}
    rows = list(read_rows(path))
    for row, item in _read_items(study, rows):
        gold = GoldItem(item, _find_answer(row, item))
        if item.id in lines:
            raise row.error(None, f"the same item as in {row.name_line(lines[item.id])}: text and options")
        found[item.id], lines[item.id] = gold, row.line
    if not found:
        raise DataError("there are no gold items in it", file=path)
    return list(found.values())


def _read_items(study: Study, rows: list[Row]) -> Iterator[tuple[Row, Item]]:
    mapping = _map_columns(study, rows)
    name = study.items.id if rows and study.items.id in rows[0].fields else "id"
    own: dict[str, Item] | None = None
    for row in rows:
        if str(row.fields.get(mapping.text) or "").strip():
            fields = {column: value for column, value in row.fields.items() if column != "id"}
            (item,) = iterate_items([replace(row, fields=fields)], mapping, row.file)
        else:
            if name not in row.fields:
                raise row.error(mapping.text, "a gold item needs a text, or the id of an item of the study")
            own = {item.id: item for item in study_items(study)} if own is None else own
            said = str(row.value(name)).strip()
            if said not in own:
                raise row.error(name, f"{said!r} is no item of the study{did_you_mean(said, own)}")
            same = {"text": own[said].text, "options": list(own[said].options)}
            (copy,) = iterate_items([replace(row, fields=same)], ItemMapping(), row.file)
            item = replace(own[said], id=copy.id, meta={})
        yield row, replace(item, id=f"gold:{item.id}")


def _map_columns(study: Study, rows: list[Row]) -> ItemMapping:
    """The study's columns where the file has them, otherwise the usual names."""
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


def _find_answer(row: Row, item: Item) -> int:
    column = next((name for name in _ANSWERS if name in row.fields), _ANSWERS[0])
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
    """One expert's answers to control questions; those of all together under the name `ALL`.

    Attributes
    ----------
    asked, answered
        Control questions, and those answered with yes or no.
    sensitivity
        Share of yes on gold questions about the true option; None without any, as in all below.
    specificity
        Share of no on gold questions about a false option.
    steadiness
        Share of repeats that were answered as the first time.
    agreement
        Share of the expert's questions with a second expert, on either side, on which both said the same.
    drift
        Change of the share of right answers to gold, from the first half of them to the second in the order
        in which they came; None below four.
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
    """Answers of an expert, in order of arrival.

    Of gold whether the question was about the truth, and whether the answer is right; of pairs whether both
    are alike, those on questions of a first and of a second expert apart.
    """

    gold: list[tuple[bool, bool]]
    repeats: list[bool]
    as_first: list[bool]
    as_second: list[bool]

    @property
    def halves(self) -> tuple[list[bool], list[bool]]:
        """Which answers to gold are right, in the first half and in the rest."""
        right = [ok for _, ok in self.gold]
        return right[: len(right) // 2], right[len(right) // 2 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlAnswers:
    """Control questions with what was said to them and to the questions that they put again.

    Attributes
    ----------
    controls
        All control questions.
    replies
        Control question → reply, in order of arrival.
    originals
        Question of the study → reply, of those that were put again.
    truth
        Gold item → true option.
    takers
        Control question → who is to answer it, of those that were handed over.
    """

    controls: Sequence[ControlQuestion]
    replies: Mapping[str, Response]
    originals: Mapping[str, Response]
    truth: Mapping[str, int]
    takers: Mapping[str, str] = field(default_factory=dict)

    def report(self, level: float = 0.95) -> tuple[ExpertQuality, ...]:
        """Every expert with a control question, by name, and `ALL` behind them; each rate at this level."""
        asked = defaultdict[str, list[ControlQuestion]](list)
        for control in self.controls:
            reply = self.replies.get(control.id)
            holder = self.takers.get(control.id, control.expert)
            asked[holder if reply is None else reply.expert].append(control)
        said = self._read()
        rows = [
            _describe(name, own, [said[name]], self.replies, level) for name, own in sorted(asked.items())
        ]
        if len(rows) > 1:
            rows.append(_describe(ALL, self.controls, list(said.values()), self.replies, level))
        return tuple(rows)

    def count_gold(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Right and wrong answers of all experts to gold: about the true option, and about a false one."""
        found = Counter(pair for said in self._read().values() for pair in said.gold)
        return (found[True, True], found[True, False]), (found[False, True], found[False, False])

    def find_second(self, index: ItemIndex) -> IntArray:
        """Shape (items,): what a second expert said to the item's question, 1, 0, or −1 for none."""
        second = np.full(index.size, -1)
        for control in self.controls:
            reply, first = self.replies.get(control.id), self.originals.get(control.original)
            said = None if reply is None else SAID.get(reply.value)
            # whoever took a question over may be the one who answered it first
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


def read_control_answers(store: Store) -> ControlAnswers | None:
    """What experts said to control questions; None if none was drawn."""
    controls = store.controls.read_controls()
    if not controls:
        return None
    originals = store.content.replies.find_replies({c.original for c in controls if c.original})
    return ControlAnswers(
        controls=controls,
        replies=store.controls.replies.read_replies(),
        originals=originals,
        truth={name: gold.truth for name, gold in store.controls.read_gold_items().items()},
        takers={name: handed.taker for name, handed in store.handovers.read_handovers().items()},
    )


def read_quality(study: Study, store: Store) -> tuple[ExpertQuality, ...]:
    """What control questions tell of the experts of a study, at its level; empty without any."""
    answers = read_control_answers(store)
    return answers.report(study.estimate.level) if answers else ()


def _describe(
    name: str,
    asked: Sequence[ControlQuestion],
    said: Sequence[_Said],
    replies: Mapping[str, Response],
    level: float,
) -> ExpertQuality:
    """One expert, or all together: halves are then those of each, and a pair counts once."""
    from oversight.harness.estimate import compare_rates  # as in `_rate`

    gold = [pair for one in said for pair in one.gold]
    first, last = ([ok for one in said for ok in one.halves[half]] for half in (0, 1))
    pairs = [alike for one in said for alike in one.as_second]
    if len(said) == 1:
        pairs += said[0].as_first
    return ExpertQuality(
        name=name,
        asked=len(asked),
        answered=sum(c.id in replies and replies[c.id].value in SAID for c in asked),
        sensitivity=_rate((ok for about, ok in gold if about), level),
        specificity=_rate((ok for about, ok in gold if not about), level),
        steadiness=_rate((alike for one in said for alike in one.repeats), level),
        agreement=_rate(pairs, level),
        drift=compare_rates(first, last, level) if len(first) > 1 else None,
    )


def _rate(outcomes: Iterable[bool], level: float) -> Rate | None:
    from oversight.harness.estimate import (
        Rate,  # with statistics, which a study without control questions needs not
    )

    found = list(outcomes)
    return Rate.of_outcomes(found, level) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What is known of experts' errors without a hand-made file, and how estimates use it.

    Attributes
    ----------
    gold
        Answers to gold, where they tell both error rates: the estimate is ``corrected``.
    second, known
        Otherwise second experts' answers, and what is known of the rates: ``hui_walter`` or ``bounded``.
    name
        Of these estimates; empty where nothing is known.
    errors
        What experts were seen to do wrong, in words; empty where they were not.
    """

    gold: GoldCounts | None
    second: IntArray
    known: ErrorRanges
    name: str
    errors: str

    def put_first(self, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
        """Those that allow for errors first; where errors were seen, the others say so."""
        first = {name: e for name, e in estimates.items() if name in CORRECTED}
        others = {name: e for name, e in estimates.items() if name not in CORRECTED}
        return first | {name: replace(e, why=e.why or self.errors) for name, e in others.items()}


def find_correction(study: Study, answers: ControlAnswers | None, labels: LabelColumns) -> Correction | None:
    """How a study's estimates allow for errors; None where nothing is known of them."""
    section = study.experts
    if labels.is_resolved or not labels.tells_accuracy or not (answers or section.knows_errors):
        return None
    known = find_rates(study, answers)
    second = answers.find_second(labels.index) if answers else np.full(labels.index.size, -1)
    return Correction(
        gold=known.gold if known else None,
        second=second,
        known=known or ErrorRanges(),
        name="hui_walter" if (second >= 0).any() else "bounded" if known else "",
        errors=describe_errors(answers),
    )


def find_rates(study: Study, answers: ControlAnswers | None) -> ErrorRanges | None:
    """What gold and study.toml tell of the error rates; None where neither does."""
    section = study.experts
    true, false = answers.count_gold() if answers else ((0, 0), (0, 0))
    if not section.knows_errors and sum(true) + sum(false) == 0:
        return None
    return ErrorRanges(
        sensitivity=(section.sensitivity[0], section.sensitivity[1]),
        specificity=(section.specificity[0], section.specificity[1]),
        gold_true=true,
        gold_false=(false[1], false[0]),
    )


def describe_rates(known: ErrorRanges) -> str:
    """What is known of the rates, in words: ``by gold (27 of 30 true options confirmed, …)``."""
    (right, missed), (false_yes, true_no) = known.gold_true, known.gold_false
    told = []
    if right + missed:
        told.append(f"{right} of {right + missed} true options confirmed")
    if false_yes + true_no:
        told.append(f"{true_no} of {false_yes + true_no} false ones denied")
    if told:
        return f"by gold ({', '.join(told)})"
    (s_low, s_high), (t_low, t_high) = known.sensitivity, known.specificity
    return f"by their ranges (sensitivity {s_low:g}–{s_high:g}, specificity {t_low:g}–{t_high:g})"


def describe_errors(answers: ControlAnswers | None) -> str:
    """Why what takes every answer for right may not hold; empty where no error was seen."""
    quality = answers.report() if answers else ()
    if not quality:
        return ""
    seen = (
        (quality[-1].sensitivity, "the true option of {of} gold questions was missed {wrong} times"),
        (quality[-1].specificity, "a false option of {of} gold questions was taken for true {wrong} times"),
        (quality[-1].steadiness, "{wrong} of {of} repeats were answered otherwise than the first time"),
        (quality[-1].agreement, "on {wrong} of {of} questions two experts differ"),
    )
    told = [_fill(text, rate) for rate, text in seen if rate is not None and rate.successes < rate.of]
    return f"experts err, which is not allowed for here: {'; '.join(told)}" if told else ""


def doubt_answers(study: Study, answers: ControlAnswers | None) -> str:
    """`describe_errors`, or that study.toml says that experts may err; empty where neither is so."""
    known = "experts may err at the rates that study.toml gives, which is not allowed for here"
    return describe_errors(answers) or (known if study.experts.knows_errors else "")


def _fill(text: str, rate: Rate) -> str:
    return text.format(of=rate.of, wrong=rate.of - rate.successes)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldOnItems:
    """Yes and no to gold questions about items of the study.

    Attributes
    ----------
    item, option
        Place of the study's item that has the gold item's text and options, and the option asked about.
    about_truth, is_right
        Whether each question asks about the true option, and whether its answer is right.
    """

    item: IntArray
    option: IntArray
    about_truth: BoolArray
    is_right: BoolArray

    def answers_for(self, predictions: PredictionColumns) -> list[GoldAnswer]:
        """The answers about items that a model predicts."""
        predicted = predictions.option[self.item]
        rows = np.flatnonzero(predicted >= 0)
        own = predicted[rows] == self.option[rows]
        return [
            GoldAnswer(about_truth=about, is_right=right, is_predicted=hit)
            for about, right, hit in zip(
                self.about_truth[rows].tolist(), self.is_right[rows].tolist(), own.tolist(), strict=True
            )
        ]


def match_gold(store: Store, answers: ControlAnswers | None, index: ItemIndex) -> GoldOnItems:
    """Find the answers to gold items that are items of the study; none without control questions."""
    rows = list[tuple[int, int, bool, bool]]()
    said = {} if answers is None else _read_said(answers)
    if answers is not None and said:
        gold = {name: found.item for name, found in store.controls.read_gold_items().items()}
        asked = {c.item_id for c in answers.controls if c.id in said}
        same = store.content.find_same({gold[name].text for name in asked})
        places = {(item.text, item.options): index.places[item.id] for item in same}
        for control in answers.controls:
            item = gold.get(control.item_id)
            place = None if item is None else places.get((item.text, item.options))
            if place is not None and control.id in said:
                about = answers.truth[control.item_id] == control.option
                rows.append((place, control.option, about, said[control.id] is about))
    table = np.array(rows, np.int64).reshape(-1, 4)
    return GoldOnItems(
        item=table[:, 0],
        option=table[:, 1],
        about_truth=table[:, 2].astype(np.bool_),
        is_right=table[:, 3].astype(np.bool_),
    )


def _read_said(answers: ControlAnswers) -> dict[str, bool]:
    """Gold question → yes or no."""
    return {
        c.id: SAID[answers.replies[c.id].value]
        for c in answers.controls
        if c.kind is ControlKind.GOLD and c.id in answers.replies and answers.replies[c.id].value in SAID
    }
