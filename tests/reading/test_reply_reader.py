from __future__ import annotations

import time

import pytest

from oversight.harness.llm import ReplyForm, Step, option_letters_of, read_reply
from oversight.harness.llm.reading.reply_reader import ReplyReading

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
    assert read_reply(text, NAMES).option == position


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
        ("This is not a cardiology case.", "denied"),
        ("Option A is wrong.", "denied"),
        ("Option A, or option B", "several"),
        ("The answer is a heart attack", "none"),
        ("Answer: A heart attack", "none"),
        ("A and B", "several"),
        ("A, C", "several"),
        ("The answer is A and B.", "several"),
        ("### A or B", "several"),
        # the third letter of its alphabet looks like the second letter of the Latin one
        ("Ответ: В", "none"),
        ('{"answer": "D"}', "none"),
        ('{"answer": ', "malformed"),
        ('{"note": "not seen"}', "malformed"),
        ("<|channel|>analysis<|message|>It is A", "empty"),
    ],
)
def test_says_why_it_cannot_read(text: str, reason: str) -> None:
    found = read_reply(text, NAMES)
    assert (found.option, found.reason) == (None, reason)


@pytest.mark.parametrize(
    ("text", "options", "read"),
    [
        ("-2", ("2", "-2"), 1),
        ("2", ("-2", "2"), 1),
        ("The answer is -2.", ("2", "-2"), 1),
        ("### -2", ("2", "-2"), 1),
        ("-c", ("a", "c", "b", "-c"), 3),
        ("- c", ("a", "c", "b", "-c"), None),  # a list item: the letter c or the text "c"
        ("B) -2", ("2", "-2"), 1),
        ("**A < B**", ("A > B", "A < B"), 1),
        ("2", ("-2", "5"), None),
        ("So it is −2, I think.", ("-2", "5"), 0),
        ("This is type 2 diabetes, clearly.", ("Type 1 diabetes", "Type 2 diabetes"), 1),
        ("2.5.", ("25", "2.5"), 1),
        ("### $-2$", ("2", "-2"), 1),
        ("About $5", ("$5", "$50"), 0),
        ("### $50,200", ("$50,200", "$45,100"), 0),
        ("The answer is B ∨ W.", ("B ⊃ W", "B ∨ W"), 1),
        ("The answer is: (a) 7 sec, (b) 78 ft", ("(a) 8 sec, (b) 75 ft", "(a) 7 sec, (b) 78 ft"), 1),
        ("It is 5%", ("5", "5%"), 1),
        ("{1, 2}", ("{1, 2}", "(1, 2)"), 0),
        ("2", ("3", "1", "2"), 2),
        ("kW", ("KW", "kW"), 1),
        ("!!!", ("yes", "?"), None),
        ("B", ("x", "A", "B"), None),  # the letter of the second option, or the text of the third
        ("The answer is B", ("x", "A", "B"), None),
        ("B", ("x", "B", "A"), 1),
    ],
)
def test_options_that_differ_only_in_signs_are_distinguished(
    text: str, options: tuple[str, ...], read: int | None
) -> None:
    assert read_reply(text, options).option == read


@pytest.mark.parametrize("text", ["B", "### B", "The answer is B.", '{"answer": "B"}'])
def test_the_requested_form_decides_if_a_text_is_another_letter(text: str) -> None:
    options = ("x", "A", "B")
    assert read_reply(text, options, ReplyForm(notation="letter")).option == 1
    assert read_reply(text, options, ReplyForm(notation="option")).option == 2
    assert read_reply(text, options).option is None


def test_numbers_name_options_beyond_26() -> None:
    options = tuple(f"option text {j}" for j in range(30))
    assert option_letters_of(30)[29] == "30"
    assert read_reply("27", options).option == 26
    assert read_reply("### 30", options).option == 29


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
    assert read_reply(text, NAMES, cut=True).option == position


def test_options_in_other_scripts_are_read_by_their_text() -> None:
    assert read_reply("小売", ("銀行", "小売", "不動産")).option == 1


LINE = ReplyForm("line", "option")


@pytest.mark.parametrize(
    ("text", "asked", "step"),
    [
        ("Weak arm.\nANSWER: neurology", LINE, Step.FORM),
        ("Weak arm.\n**ANSWER: B**", LINE, Step.FORM),
        ("Weak arm.\nFinal answer: (B) neurology.", LINE, Step.FORM),
        ("ANSWER: neurology\n\nThe arm is weak.", LINE, Step.MARK),
        (r"So \boxed{\textbf{(B)}}", LINE, Step.MARK),
        ("Weak arm.\nANSWER: neurology", ReplyForm(), Step.MARK),
        ('{"answer": "neurology"}', ReplyForm("schema"), Step.FORM),
        ('{"answer": "neurology"}', LINE, Step.MARK),
        ("neurology", ReplyForm("choice"), Step.FORM),
        ("neurology", LINE, Step.WHOLE),
        ("I would go with neurology, since the arm is weak.", LINE, Step.STATEMENT),
        ("=> neurology <=", ReplyForm(pattern="=> (?P<answer>.*) <="), Step.FORM),
        ("neurology", ReplyForm(pattern="=> (?P<answer>.*) <="), Step.WHOLE),
    ],
)
def test_reading_names_the_step_that_found_the_answer(text: str, asked: ReplyForm, step: Step) -> None:
    assert read_reply(text, NAMES, asked) == ReplyReading(1, step)


@pytest.mark.parametrize(
    ("text", "asked", "reason"),
    [
        ("ANSWER: cardiology\nOn second thought:\nANSWER: neurology", LINE, "several"),
        ("ANSWER: neurology\nWait, the answer is cardiology.", LINE, "several"),
        ("ANSWER: not neurology", LINE, "denied"),
        ("ANSWER: neurology or cardiology", LINE, "several"),
        ("The answer is neurology.", ReplyForm(pattern="=> (?P<answer>.*) <="), "pattern"),
        ("=> something <=", ReplyForm(pattern="=> (?P<answer>.*) <="), "none"),
        ('{"answer": "A", "final_answer": "B"}', ReplyForm("schema"), "several"),
    ],
)
def test_a_contradictory_reply_is_no_answer(text: str, asked: ReplyForm, reason: str) -> None:
    assert read_reply(text, NAMES, asked) == ReplyReading(None, reason=reason)


UNITS = ["(", "a ", "{", "A, ", "answer is ", "<think>", "\\boxed{", "9", "-", "is ", "not B. ", "\n", "a\n"]
UNITS += [
    ": ",
    "🅑",
    "答案",
    "B",
    "B\n",
    "[think]",
    "answer: ",
    '{"answer": ',
    "...",
    "neurology, ",
    "a-b.",
    "- B: no\n",
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_reply_is_read_in_time(unit: str) -> None:
    started = time.process_time()
    read_reply(unit * (90_000 // len(unit)), NAMES)
    assert time.process_time() - started < 10


def test_characters_that_stand_for_options_inside_name_none_in_a_reply() -> None:
    assert read_reply("The answer is \ue001.", NAMES).option is None


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("[internal medicine]", 0),
        ("<planning>", 1),
        ("[analysis]\nA fever.\n[answer] planning", 1),
        ("<analysis>internal medicine?</analysis>planning", 1),
        ('<think time="3s">internal medicine?</think>planning', 1),
    ],
)
def test_an_option_in_brackets_is_no_mark_of_reasoning(text: str, option: int) -> None:
    assert read_reply(text, ("internal medicine", "planning")).option == option


@pytest.mark.parametrize(
    "text",
    [
        "It fits.\n\nFinal answer: lung\n\nANSWER: lung",
        "Reason.\n\nANSWER: lung\nANSWER: lung",
        "It is short.\n\nConclusion: the second fits.\nANSWER: lung",
        "lung\n\nQuestion: Which pumps blood?\nANSWER: heart",
    ],
)
def test_labelled_lines_after_a_first_line_are_another_example_only_after_an_answer(text: str) -> None:
    assert read_reply(text, ("heart", "lung", "skin"), ReplyForm("line")).option == 1
