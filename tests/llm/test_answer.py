from __future__ import annotations

import pytest

from harness.llm import Unreadable, option_letters_of, parse_answer

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
        ('{"answer": "B"}', 1),
        ('{"answer": "neurology"}', 1),
        ('{"answer": "B"} since A is wrong', 1),
        ('```json\n{"answer": "B"}\n```', 1),
        ('Sure:\n```\n{"why": "a stroke",\n "answer": "neurology"}\n```\nDone.', 1),
        ('```json\n{"age": 4}\n```\n### B', 1),
        ("I choose option (B) because option (A) is wrong", 1),
        ("I would choose B.", 1),
        ("Answer: \\(B\\)", 1),
        ("It is not cardiology but vascular neurology", 2),
        ("It follows that \\boxed{B}", 1),
        ("### neurology", 1),
        ("A long thought, begun in the prompt.</think>\nB", 1),
        ("<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>C", 2),
        ("Options A and B are wrong, the answer is C", 2),
        ("I'm sorry for the delay. The answer is B", 1),
        ("The answer is (a)", 0),
        ("Ответ: Б", 1),
        ("答案：B", 1),
        ("La respuesta es B", 1),
        ("الإجابة: ج", 2),
        ("Ｂ", 1),
        ("Ⓑ", 1),
        ("甲", 0),
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
        ("This is not a cardiology case.", "none"),
        ("Option A is wrong.", "none"),
        ("Option A, or option B", "several"),
        ("The answer is a heart attack", "none"),
        ("Answer: A heart attack", "none"),
        ("A and B", "several"),
        ("A, C", "several"),
        ("The answer is A and B.", "several"),
        ("### A or B", "several"),
        ("Ответ: В", "none"),  # third in its alphabet, yet it looks like the second
        ('{"answer": "D"}', "none"),
        ('{"answer": ', "malformed"),
        ('{"reply": "A"}', "malformed"),
        ("<|channel|>analysis<|message|>It is A", "empty"),
    ],
)
def test_says_why_it_cannot_read(text: str, reason: str) -> None:
    assert parse_answer(text, NAMES) == Unreadable(reason)


@pytest.mark.parametrize(
    ("text", "options", "read"),
    [
        ("-2", ("2", "-2"), 1),
        ("2", ("-2", "2"), 1),
        ("The answer is -2.", ("2", "-2"), 1),
        ("### -2", ("2", "-2"), 1),
        ("B) -2", ("2", "-2"), 1),
        ("**A < B**", ("A > B", "A < B"), 1),
        ("2", ("-2", "5"), Unreadable("none")),
        ("So it is −2, I think.", ("-2", "5"), 0),
        ("This is type 2 diabetes, clearly.", ("Type 1 diabetes", "Type 2 diabetes"), 1),
        ("2.5.", ("25", "2.5"), 1),
        ("### $-2$", ("2", "-2"), 1),
        ("About $5 (or less)", ("$5", "$50"), 0),
        ("### $50,200", ("$50,200", "$45,100"), 0),
        ("The answer is B ∨ W.", ("B ⊃ W", "B ∨ W"), 1),
        ("The answer is: (a) 7 sec, (b) 78 ft", ("(a) 8 sec, (b) 75 ft", "(a) 7 sec, (b) 78 ft"), 1),
        ("It is 5%", ("5", "5%"), 1),
        ("{1, 2}", ("{1, 2}", "(1, 2)"), 0),
        ("2", ("3", "1", "2"), 2),
        ("kW", ("KW", "kW"), 1),
        ("!!!", ("yes", "?"), Unreadable("none")),
        ("B", ("x", "A", "B"), Unreadable("several")),  # the second option, or the text of the third
        ("The answer is B", ("x", "A", "B"), Unreadable("several")),
        ("B", ("x", "B", "A"), 1),
    ],
)
def test_options_that_signs_tell_apart_are_told_apart(
    text: str, options: tuple[str, ...], read: int | Unreadable
) -> None:
    assert parse_answer(text, options) == read


@pytest.mark.parametrize("text", ["B", "### B", "The answer is B.", '{"answer": "B"}'])
def test_what_was_asked_for_decides_where_a_text_is_another_options_letter(text: str) -> None:
    options = ("x", "A", "B")
    assert parse_answer(text, options, asked="letter") == 1
    assert parse_answer(text, options, asked="option") == 2
    assert parse_answer(text, options) in (Unreadable("several"), Unreadable("none"))


def test_numbers_stand_for_more_than_26_options() -> None:
    options = [f"option text {j}" for j in range(30)]
    assert option_letters_of(30)[29] == "30"
    assert parse_answer("27", options) == 26
    assert parse_answer("### 30", options) == 29


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("B", 1),
        ("neurology\nNote: the", 1),
        ("### C\nand", 2),
        ("The answer is A", None),
        ("On neurology", None),
    ],
)
def test_a_cut_answer_counts_only_if_more_could_not_change_it(text: str, position: int | None) -> None:
    found = parse_answer(text, NAMES, cut=True)
    assert found == (Unreadable("none") if position is None else position)


def test_options_in_other_scripts_are_read_by_their_text() -> None:
    assert parse_answer("小売", ("銀行", "小売", "不動産")) == 1
