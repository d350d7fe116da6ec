from __future__ import annotations

import pytest

from harness.llm.answer import Unreadable, letters, parse_answer

NAMES = ("cardiology", "neurology", "vascular neurology")


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("B", 1),
        ("(b)", 1),
        ("**C**.", 2),
        ("neurology", 1),
        (" Neurology.\n", 1),
        ("vascular neurology", 2),
        ("Because of the stroke.\n### C", 2),
        ("### A\nno, wait\n### B", 1),
        ("The answer is B.", 1),
        ("I first thought A, but the correct answer is (C)", 2),
        ("Answer: C because", 2),
        ("B) neurology", 1),
        ("neurology\nNote: the next one", 1),
        ("This patient should see vascular neurology soon.", 2),
        ("<think>A? no, B? The answer is A</think>\nC", 2),
        ("A cardiology case", 0),
    ],
)
def test_reads_the_option_that_is_named(text: str, position: int) -> None:
    assert parse_answer(text, NAMES) == position


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("<think>the answer is A", "empty"),
        ("I'm sorry, I can't help with that.", "refusal"),
        ("cardiology or neurology", "several"),
        ("It depends on the case.", "none"),
        ("D", "none"),
        ("### Z", "none"),
        ("A patient with a headache.", "none"),
    ],
)
def test_says_why_it_cannot_read(text: str, reason: str) -> None:
    assert parse_answer(text, NAMES) == Unreadable(reason)


def test_numbers_stand_for_more_than_26_options() -> None:
    options = [f"option text {j}" for j in range(30)]
    assert letters(30)[29] == "30"
    assert parse_answer("27", options) == 26
    assert parse_answer("### 30", options) == 29


def test_options_in_other_scripts_are_read_by_their_text() -> None:
    assert parse_answer("小売", ("銀行", "小売", "不動産")) == 1
