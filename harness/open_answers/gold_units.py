"""Gold: units whose truth is known. It is stored when questions are drawn, and does not change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from oversight.harness.config import Study
from oversight.harness.datasets import Row
from oversight.harness.errors import DataError
from oversight.harness.open_answers.answer_frame import Frame
from oversight.harness.open_answers.rubric_files import iterate_unit_key
from oversight.harness.open_answers.units import NO, YES
from oversight.harness.output import did_you_mean, shorten
from oversight.harness.store import GoldItem, Store, StoredAnswer, StoredUnit
from oversight.harness.types import Item

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
