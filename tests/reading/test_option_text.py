"""Options' own texts come back as those options: all bundled questions, and all of MMLU-Pro."""

from __future__ import annotations

from pathlib import Path

import pytest

from oversight.harness.datasets import read_items, read_preset
from oversight.harness.llm import read_reply
from oversight.harness.llm.reading.mentions import _AFTER, _BEFORE, _texts
from oversight.harness.types import Item

FORMS = ("{}", "### {}", "I think the answer is {}.")


def misread(items: list[Item], form: str) -> tuple[int, int, int]:
    """Answers, how many of them were taken for another option, and how many for none."""
    found = [
        (j, read_reply(form.format(text), item.options).option)
        for item in items
        for j, text in enumerate(item.options)
    ]
    wrong = sum(isinstance(read, int) and read != j for j, read in found)
    return len(found), wrong, sum(not isinstance(read, int) for _, read in found)


@pytest.mark.parametrize("form", FORMS)
def test_bundled_options_are_all_read(form: str) -> None:
    items = read_items(Path(__file__).parents[2] / "data" / "questions.jsonl")
    assert misread(items, form)[1:] == (0, 0)


@pytest.mark.parametrize("form", [*FORMS[:2], pytest.param(FORMS[2], marks=pytest.mark.slow)])
def test_options_of_mmlu_pro_are_hardly_ever_misread(form: str, datasets: Path) -> None:
    items, _ = read_preset("mmlu-pro", datasets / "mmlu_pro_questions.parquet")
    n, wrong, unreadable = misread(items[::8], form)
    assert n > 10_000
    assert wrong / n < 1e-4  # those that are misread are formulas with line breaks
    assert unreadable / n < 1e-3  # for example texts of options that are another option's letter


@pytest.mark.parametrize(
    "options",
    [
        ("<b>bold</b>", "bold"),
        ("<em>x y</em>", "<b>x y</b>"),
        ("<p>T</p>", "<h2>T</h2>"),
        ("ＤＮＡ", "ＲＮＡ"),
    ],
)
def test_options_that_differ_in_tags_or_have_full_width_letters_are_read(options: tuple[str, ...]) -> None:
    forms = ("{}", "ANSWER: {}", "### {}")
    assert [[read_reply(f.format(o), options).option for o in options] for f in forms] == [[0, 1]] * 3
    assert read_reply("Ｂ", options).option == 1


def test_a_thousand_options_share_the_pattern_of_their_boundaries() -> None:
    """Compiling a pattern with a boundary for each of them takes seconds."""
    options = ("Disease", *(f"disease{' x' * (j % 7)} {j}" for j in range(999)), "disease")
    assert read_reply("I think so.\nANSWER: disease", options).option == 1000
    pattern, order = _texts(options, frozenset())
    assert pattern is not None
    assert len(order) == 1001
    assert pattern.pattern.count(_BEFORE) == pattern.pattern.count(_AFTER) == 1
