"""What is sent to the server for one study: pages, instructions, and the data of each task.

A task holds what the expert must read and the question's id: no truth, no prediction, no propensity,
nobody else's answer, nothing that tells how or why the item was chosen.
"""

from __future__ import annotations

import hashlib
import html
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.errors import DataError
from protocols.label_studio.page import check_page, verdict_page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.config import Study
    from harness.types import Item, Question


@dataclass(frozen=True, slots=True)
class Sheet:
    """How questions of a study are shown.

    Attributes
    ----------
    page
        The labelling page.
    instructions
        Shown to the expert before the first question; empty for none.
    descriptions
        Class → what is meant by it.
    own_options
        Whether items bring their own options.
    """

    page: str
    instructions: str = ""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    own_options: bool = False

    @classmethod
    def of(cls, study: Study) -> Sheet:
        """Make the sheet that study.toml describes.

        Raises
        ------
        DataError
            If the page is not one, or a class that is no class of the study is described.
        """
        section, classes = study.label_studio, study.items.classes
        for name in section.descriptions:
            if classes and name not in classes:
                raise DataError(
                    f"describes the unknown class {name!r}; classes are {', '.join(classes)}",
                    file=study.path("study.toml"),
                    field=f"label_studio.descriptions.{name}",
                )
        own_options = not (classes or study.items.preset)
        if section.page:
            path = study.path(section.page)
            try:
                page = check_page(path.read_text(encoding="utf-8"), path)
            except (OSError, UnicodeDecodeError) as error:
                raise DataError(f"the page cannot be read: {error}", file=path) from None
        else:
            page = verdict_page(options=own_options, descriptions=bool(section.descriptions))
        return cls(page, section.instructions, section.descriptions, own_options)

    @property
    def instructions_html(self) -> str:
        """The instructions with their line breaks, as the server wants them."""
        return html.escape(self.instructions).replace("\n", "<br>")

    def data(self, question: Question, item: Item) -> dict[str, str]:
        """Give the data of a question's task.

        Raises
        ------
        DataError
            If the item has no text.
        """
        if not item.text.strip():
            raise DataError(
                f"the item {item.id!r} has no text: an expert would see an empty page", field="text"
            )
        name = item.options[question.option]
        sent = {"question_id": question.id, "text": item.text, "question": f"Is the answer “{name}”?"}
        if self.descriptions:
            sent["description"] = self.descriptions.get(name, " ")  # the page wants the field in every task
        if self.own_options:
            sent["options"] = "\n".join(f"• {option}" for option in item.shown_options)
        return sent


def digest(data: Mapping[str, object]) -> str:
    """Hash of a task's data, to tell if somebody changed it on the server."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
