"""The part of a question that is sent to the browser: the text to read and an opaque id.

It contains no truth, prediction, propensity or answer of others, and does not reveal how or why the item
was chosen. Options are identified by their positions on the page, because their order in a source may
reveal the true one.
"""

from __future__ import annotations

from typing import Any

from oversight.harness.config import Study
from oversight.harness.output import join_lines
from oversight.harness.types import Item, Verdict
from oversight.protocols.collect.answer_page.given_answer import WrongAnswer
from oversight.protocols.collect.answer_page.page_queues import HeldQuestion
from oversight.protocols.collect.question_texts import OPEN_WORDS, QuestionTexts

_SKIPPED = Verdict.SKIP.value
_VERDICTS = frozenset(verdict.value for verdict in Verdict)


class QuestionSheet:
    """Shows a study's questions with the same texts as Label Studio.

    Parameters
    ----------
    study
        The study of the questions.

    Raises
    ------
    DataError
        If study.toml describes a class that does not exist.
    """

    def __init__(self, study: Study) -> None:
        self._texts = QuestionTexts.of(study)

    def show_question(self, held: HeldQuestion, item: Item) -> dict[str, Any]:
        """Return a question in the form that the page receives.

        Returns
        -------
        dict
            ``id``, ``text``, ``question``; ``description`` of the option asked about, empty if there is
            none; ``options`` of the item if items have different options; ``choices``, each with ``label``
            and ``description``, if one of all options is to be chosen, otherwise None;
            ``words``: names of the verdicts, if they differ from the usual ones.
        """
        about = self._texts.descriptions
        text = join_lines(item.text)
        shown: dict[str, Any] = {"id": held.id, "text": text, "description": "", "options": []}
        if held.option is None:
            options = [item.options[j] for j in self._order(item)]
            choices = [{"label": option, "description": about.get(option, "")} for option in options]
            return shown | {"question": self._texts.ask(item, None), "choices": choices}
        name = item.options[held.option]
        shown |= {
            "question": self._texts.ask(item, held.option),
            "description": about.get(name, ""),
            "choices": None,
        }
        if item.is_statement:
            shown["words"] = OPEN_WORDS
        return shown | ({"options": list(item.shown_options)} if self._texts.own_options else {})

    def read_value(self, held: HeldQuestion, item: Item, value: str) -> str:
        """Convert a value from the page to its stored form: a verdict, or a label (empty if skipped).

        Raises
        ------
        WrongAnswer
            If the value was not offered.
        """
        if held.option is not None:
            if value in _VERDICTS:
                return value
        elif value == _SKIPPED:
            return ""
        elif value.isdecimal() and str(int(value)) == value and int(value) < len(item.options):
            return item.options[self._order(item)[int(value)]]
        raise WrongAnswer("the value was not offered")

    def write_value(self, held: HeldQuestion, item: Item, stored: str) -> str | None:
        """Convert a stored value to that of the page; None if it is no longer an option of the item."""
        if held.option is not None:
            return stored
        if not stored:
            return _SKIPPED
        places = (place for place, j in enumerate(self._order(item)) if item.options[j] == stored)
        return next(map(str, places), None)

    def _order(self, item: Item) -> tuple[int, ...]:
        """Return options in display order: class order if all items share them, otherwise permuted."""
        return item.permutation if self._texts.own_options else tuple(range(len(item.options)))
