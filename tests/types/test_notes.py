"""Notes are values; their flags and sentences are made of kind and data."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from oversight.harness import WrongType
from oversight.harness.types import Estimate, Note, NoteKind, to_frame

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


FLAGS: list[tuple[NoteKind, dict[str, object], str]] = [
    (NoteKind.MISSING, {"missing": 3, "of": 200}, "missing: 3 of 200 items failed or had no answer"),
    (NoteKind.ANSWERING_RATES, {"least": 0.2, "most": 1.0}, "answering_rates: 20% and 100%"),
    (NoteKind.PASSED_OVER, {"passed": 3, "of": 200}, "passed_over: 3 of 200"),
    (NoteKind.OPEN_ITEMS, {"open": 3, "of": 200}, "open_items: 3 of 200"),
    (
        NoteKind.PARTIAL,
        {"used": 12, "answered": 20, "share": 0.5, "slowest": "ana"},
        "partial: 12 of 20 answers used, those to the first 50% of every expert's questions, because "
        "ana has answered only so many",
    ),
    (
        NoteKind.PARTIAL_WITH_ADDED,
        {"used": 12, "answered": 20, "share": 0.5, "slowest": "ana"},
        "partial: 12 of 20 answers used, those to the first 50% of every expert's questions about the first "
        "items and about the items added later, because ana has answered only so many",
    ),
    (NoteKind.UNRESOLVED, {"items": 3}, "unresolved: 3"),
    (NoteKind.SENSITIVITY, {"rate": 0.91}, "sensitivity: 0.910"),
    (
        NoteKind.VOTES_WORTH,
        {"worth": 9, "answers": 7},
        "votes_worth: 9 answers without votes; there are 7 answers",
    ),
    (NoteKind.SECOND_QUESTIONS, {"used": 7, "of": 9}, "second_questions: 7 of 9 used"),
    (
        NoteKind.SECOND_WORTH,
        {"worth": 9, "answers": 7},
        "second_worth: 9 first answers; there are 7 first answers",
    ),
    (
        NoteKind.JUDGE_SAVED,
        {"saved": 2, "least": -1, "most": 4, "level": 0.95, "answers": 7, "worth": 9},
        "judge_saved: 2 questions (-1 to 4 at 95%): 7 answers give as narrow an interval as 9 answers "
        "without the judge",
    ),
    (
        NoteKind.JUDGE_WORTH,
        {"least": 10, "answers": 50, "rarer": "wrong"},
        "judge_worth: not known: by these answers, fewer than 10 of 50 items are wrong",
    ),
    (
        NoteKind.SINGLE_LABEL_ITEMS,
        {"items": 3},
        "single_label_items: 3, which are left out",
    ),
    (
        NoteKind.SINGLE_VOTE,
        {"single": 4, "of": 9},
        "single_vote: 4 of 9 choices are compared with only one other vote, so they are in no range of "
        "certainty and not in the expected score",
    ),
    (
        NoteKind.DIFFERENT_ITEMS,
        {"least": 3, "most": 5, "of": 9, "low": 0.25, "high": 0.5},
        "different_items: each rated 3 to 5 of 9 items; on a person's items, the model scores 0.250 to 0.500",
    ),
    (NoteKind.FEW_PEOPLE, {"people": 1, "fewest": 5}, "few_people: 1; at least 5 are advised"),
]


@pytest.mark.parametrize(("kind", "data", "flag"), FLAGS)
def test_notes_have_stable_flags(kind: NoteKind, data: dict[str, object], flag: str) -> None:
    assert Note(kind, data).flag == flag


def test_data_that_the_kind_does_not_name_are_refused() -> None:
    with pytest.raises(WrongType, match=r"keys \['missing', 'of'\]"):
        Note(NoteKind.MISSING, {"missing": 3})
    with pytest.raises(WrongType, match="keys"):
        Note(NoteKind.STRATIFIED, {"of": 3})


def test_braces_in_names_are_not_replaced() -> None:
    why = "the class {a} is {rare}"
    assert str(Note(NoteKind.NO_INTERVAL, {"why": why})) == f"no interval: {why}"


def test_shares_are_rounded_once() -> None:
    note = Note(NoteKind.UNRESOLVED_WITHIN, {"items": 4, "least": 0.5, "most": 0.54})
    assert note.flag == "unresolved: 4, value within [0.5000, 0.5400]"
    assert str(note).endswith(
        "resolved, because an expert did not answer; they could move the estimate to 50.0 % – 54.0 %"
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


def test_texts_in_place_of_notes_are_refused() -> None:
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
