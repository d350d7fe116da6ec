"""The texts of a question that experts see on every channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from oversight.harness import DataError
from oversight.harness.config import Study
from oversight.harness.datasets import PRESETS
from oversight.harness.types import Item, Verdict

OPEN_WORDS = {Verdict.UNSURE: "Cannot tell", Verdict.SKIP: "Not my field"}
"""Names of replies to questions about open answers, if they differ from the names for other questions."""


@dataclass(frozen=True, slots=True)
class QuestionTexts:
    """The texts around an item: the question, and the descriptions of classes.

    Attributes
    ----------
    classes
        Classes that all items share, in order; empty if items have different options.
    descriptions
        Class → its description.
    own_options
        Whether each question shows the options of its item, in the item's order.
    template
        Text of the question, with ``$option`` in the place of the option; None for the English default.
    """

    classes: tuple[str, ...]
    descriptions: Mapping[str, str]
    own_options: bool
    template: str | None

    @classmethod
    def of(cls, study: Study) -> QuestionTexts:
        """Read the texts from study.toml.

        Raises
        ------
        DataError
            If study.toml describes a class that does not exist.
        """
        preset, descriptions = PRESETS.get(study.items.preset or ""), study.label_studio.descriptions
        classes = tuple(study.items.classes) or (preset.classes if preset else ())
        for name in descriptions:
            if classes and name not in classes:
                told = f"describes the unknown class {name!r}; classes are {', '.join(classes)}"
                field = f"label_studio.descriptions.{name}"
                raise DataError(told, file=study.path("study.toml"), field=field)
        # Label Studio reads text that begins with a dollar sign as the name of a field.
        own_options = not classes or (study.experts.is_panel and any("$" in c for c in classes))
        own_options = own_options and not study.is_open
        return cls(classes, descriptions, own_options, study.experts.question_text)

    def ask(self, item: Item, option: int | None) -> str:
        """Return the question about an option; for a panel, the question about all options.

        An item about an open answer has one option, which is the question itself.
        """
        if item.is_statement:
            return item.options[0]
        if self.template is not None:
            return fill_question(self.template, "" if option is None else item.options[option])
        return "Which one is the answer?" if option is None else f"Is the answer “{item.options[option]}”?"


def fill_question(template: str, option: str) -> str:
    """Return the question about an option in the words of ``[experts] question_text``."""
    return Template(template).substitute(option=option)
