"""Prepare the data that a study sends to the server: page, instructions, and the data of each task.

A task contains the text to read and the question's id. It contains no truth, prediction, propensity or other
person's answer, and does not reveal how or why the item was chosen.
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass

from oversight.harness import DataError
from oversight.harness.config import Study
from oversight.harness.output import join_lines, read_text
from oversight.harness.types import Item, Question
from oversight.protocols.collect.label_studio.labelling_page import (
    check_page,
    make_panel_page,
    make_verdict_page,
)
from oversight.protocols.collect.question_texts import OPEN_WORDS, QuestionTexts
from oversight.protocols.routing import Pending


@dataclass(frozen=True, slots=True)
class TaskSheet:
    """How a study's questions are presented on Label Studio, and which answers are allowed.

    Attributes
    ----------
    study
        The study's name.
    page
        The labelling page.
    instructions
        HTML shown to the expert before the first question; empty for none.
    texts
        The question, the descriptions of classes, and whether tasks must contain the item's options.
    """

    study: str
    page: str
    instructions: str
    texts: QuestionTexts

    @classmethod
    def of(cls, study: Study) -> TaskSheet:
        """Create the sheet that study.toml describes.

        Raises
        ------
        DataError
            If the page is invalid, or study.toml describes a class that does not exist.
        """
        section, texts = study.label_studio, QuestionTexts.of(study)
        classes, own_options = texts.classes, texts.own_options
        described = bool(section.descriptions)
        if section.page:
            page = _own_page(study)
        elif study.experts.is_panel:
            page = make_panel_page(() if own_options else classes, descriptions=described)
        else:
            words = OPEN_WORDS if study.is_open else None
            page = make_verdict_page(options=own_options, descriptions=described, words=words)
        instructions = html.escape(section.instructions).replace("\n", "<br>")
        return cls(study.study.name, page, instructions, texts)

    def data(self, asked: Pending, item: Item) -> dict[str, object]:
        """Return the data of a task.

        Raises
        ------
        DataError
            If the item has no text.
        """
        if not item.text.strip():
            raise DataError(
                f"the item {item.id!r} has no text: an expert would see an empty page", field="text"
            )
        texts = self.texts
        sent: dict[str, object] = {"question_id": asked.id, "text": join_lines(item.text)}
        if isinstance(asked, Question):
            name = item.options[asked.option]
            sent["question"] = texts.ask(item, asked.option)
            if texts.descriptions:
                # The page requires a description in every task.
                sent["description"] = texts.descriptions.get(name, " ")
            if texts.own_options:
                sent["options"] = "\n".join(f"• {option}" for option in item.shown_options)
            return sent
        sent["question"] = texts.ask(item, None)
        if texts.descriptions:
            told = [f"{o}: {texts.descriptions[o]}" for o in item.options if o in texts.descriptions]
            sent["description"] = "\n".join(told) or " "
        if texts.own_options:
            sent["choices"] = [{"value": item.options[j], "alias": str(j)} for j in item.permutation]
        return sent


def _own_page(study: Study) -> str:
    section = study.label_studio
    if study.experts.is_panel:
        told = "a custom page asks yes or no; the page of a panel is made from the options"
        raise _wrong(study, "page", told)
    path = study.path(section.page or "")
    try:
        return check_page(read_text(path), path, OPEN_WORDS if study.is_open else ())
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the page cannot be read: {error}", file=path) from None


def _wrong(study: Study, key: str, message: str) -> DataError:
    return DataError(message, file=study.path("study.toml"), field=f"label_studio.{key}")


def hash_task(data: Mapping[str, object]) -> str:
    """Hash a task's data, to detect changes on the server."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
