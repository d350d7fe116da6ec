"""Notes are values; their flags and sentences are made of kind and data."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from oversight.harness import WrongType, to_frame
from oversight.harness.types import Estimate, Note, NoteKind

OUTSIDE = Note(NoteKind.VALUE_OUTSIDE_INTERVAL)


@pytest.mark.parametrize("kind", NoteKind)
def test_every_kind_has_a_flag_and_a_sentence(kind: NoteKind) -> None:
    note = Note(kind, dict.fromkeys(kind.keys, 7))
    assert note.flag.partition(": ")[0] == kind.flag
    assert (note.flag == kind.flag) == (not kind.remark)
    sentence = str(note)
    assert " " in sentence
    assert not {"{", "_"} & {*sentence.replace("U_e", "").replace("U_star", "")}
    assert ("7" in sentence) == bool(kind.keys)


def test_data_that_the_kind_does_not_name_are_refused() -> None:
    with pytest.raises(WrongType, match=r"keys \['missing', 'of'\]"):
        Note(NoteKind.MISSING, {"missing": 3})
    with pytest.raises(WrongType, match="keys"):
        Note(NoteKind.STRATIFIED, {"of": 3})


def test_names_with_braces_stay_as_they_are() -> None:
    why = "the class {a} is {rare}"
    assert str(Note(NoteKind.NO_INTERVAL, {"why": why})) == f"no interval: {why}"


def test_shares_are_rounded_once() -> None:
    note = Note(NoteKind.UNRESOLVED_WITHIN, {"items": 4, "least": 0.5, "most": 0.54})
    assert note.flag == "unresolved: 4, value within [0.5000, 0.5400]"
    assert str(note).endswith(
        "resolved: an expert was silent; they could move the estimate to 50.0 % – 54.0 %"
    )


def test_notes_compare_by_value_and_survive_pickling() -> None:
    note = Note(NoteKind.JOINT, {"models": 3})
    assert pickle.loads(pickle.dumps(note)) == note  # noqa: S301 -- made here
    assert len({note, Note(NoteKind.JOINT, {"models": 3}), Note(NoteKind.JOINT, {"models": 4})}) == 2


def estimate(value: float, *notes: Note, why: str = "") -> Estimate:
    return Estimate(
        value=value,
        low=0.4,
        high=0.6,
        se=None,
        level=0.95,
        estimator="ml",
        method="exact",
        notes=notes,
        why=why,
    )


def test_texts_are_no_notes() -> None:
    with pytest.raises(WrongType, match="Note"):
        replace(estimate(0.5), notes=("stratified",))  # type: ignore[arg-type]


def test_an_interval_contains_its_estimate_or_says_that_it_does_not() -> None:
    assert estimate(0.5).all_notes == ()
    assert estimate(0.7).all_notes == (OUTSIDE,)
    assert estimate(0.7).flags == ()
    assert estimate(0.7, OUTSIDE).all_notes == (OUTSIDE,)
    out_of_range = Note(NoteKind.OUT_OF_RANGE)
    assert estimate(-0.1, out_of_range).all_notes == (out_of_range,)


def test_frames_have_flags() -> None:
    made = estimate(0.5, Note(NoteKind.STRATIFIED), Note(NoteKind.JOINT, {"models": 3}))
    assert made.flags == ("stratified", "joint: 3 models")
    assert to_frame(made)["flags"].tolist() == ["stratified, joint: 3 models"]


def test_an_estimate_that_may_not_hold_says_so_as_text() -> None:
    assert estimate(0.5).holds
    doubtful = estimate(0.5, why="half of the run is missing")
    assert not doubtful.holds
    assert str(doubtful).endswith("the interval may not hold: half of the run is missing")
