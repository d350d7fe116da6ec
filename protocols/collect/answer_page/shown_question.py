"""What of a question goes out: what the expert must read, and an opaque id.

No truth, no prediction, no propensity, nobody else's answer, nothing that tells how or why the item was
chosen. Options are known by their places on the page, since their order in a source may tell which is true.
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
    """How a study's questions are shown, in the same words as in Label Studio.

    Parameters
    ----------
    study
        Whose questions they are.

    Raises
    ------
    DataError
        If study.toml describes a class that is none.
    """

    def __init__(self, study: Study) -> None:
        self._texts = QuestionTexts.of(study)

    def show(self, held: HeldQuestion, item: Item) -> dict[str, Any]:
        """A question as the page is told it.

        Returns
        -------
        dict
            ``id``, ``text``, ``question``; ``description`` of the option asked about, empty if there is none;
            ``options`` of the item where every item has its own; ``choices``, each with ``label`` and
            ``description``, where one of all options is to be chosen, else None; ``words``: what verdicts are
            called if not as usual.
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
        """What a value of the page is as it is stored: a verdict, or a label (empty if skipped).

        Raises
        ------
        WrongAnswer
            If nothing of the kind was offered.
        """
        if held.option is not None:
            if value in _VERDICTS:
                return value
        elif value == _SKIPPED:
            return ""
        elif value.isdecimal() and str(int(value)) == value and int(value) < len(item.options):
            return item.options[self._order(item)[int(value)]]
        raise WrongAnswer("value is none of those offered")

    def write_value(self, held: HeldQuestion, item: Item, stored: str) -> str | None:
        """A stored value as the page knows it; None if it is no option of the item any more."""
        if held.option is not None:
            return stored
        if not stored:
            return _SKIPPED
        places = (place for place, j in enumerate(self._order(item)) if item.options[j] == stored)
        return next(map(str, places), None)

    def _order(self, item: Item) -> tuple[int, ...]:
        """Options in the order in which they are shown: all items' in the classes' own, others permuted."""
        return item.permutation if self._texts.own_options else tuple(range(len(item.options)))
