from __future__ import annotations

import pytest

from oversight.harness import ConfigError
from oversight.harness.llm import DEFAULT_TEMPLATE, check_template
from oversight.harness.llm.runner.prompt import render_prompt
from oversight.harness.types import Item

ITEM = Item("a", "one two three $ {four}", ("x", "y", "z"), (2, 0, 1))


def test_fields_are_filled_in_display_order() -> None:
    prompt = render_prompt("$text|$options|$names|$letters", ITEM)
    assert prompt == "one two three $ {four}|(A) z\n(B) x\n(C) y|z, x, y|A, B, C"


def test_long_texts_are_cut_to_whole_words() -> None:
    assert render_prompt("$text", ITEM, max_words=2) == "one two"


def test_the_built_in_template_is_complete() -> None:
    assert check_template(DEFAULT_TEMPLATE) == DEFAULT_TEMPLATE


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("$text $nope", r"unknown field \$nope"),
        ("no field", r"\$text is missing"),
        ("$text 5$", "does not begin a field"),
    ],
)
def test_templates_that_cannot_work_are_refused(template: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_template(template)
