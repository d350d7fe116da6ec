"""Make what experts see on Label Studio: the labelling pages, and the data of each task.

The verdict page asks "is the answer this option?" with Yes, No and Unsure. The panel page asks for the one
right option of K. A task contains the text to read and the question's id. Page and task contain no truth,
prediction, propensity or other person's answer, and do not reveal how or why the item was chosen.
"""

from __future__ import annotations

import hashlib
import html
import json
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from oversight.harness import DataError
from oversight.harness.config import Study
from oversight.harness.output import join_lines, read_text
from oversight.harness.types import Item, Question, Verdict
from oversight.protocols.collect.question_texts import OPEN_WORDS, QuestionTexts
from oversight.protocols.routing import Pending

CHOICE, COMMENT, ITEM = "verdict", "comment", "item"
VERDICTS = (Verdict.YES, Verdict.NO, Verdict.UNSURE)

_STYLE = (
    "<Style>.ask-page{max-width:60em;margin:0 auto} .ask-text{white-space:pre-line;line-height:1.55}"
    " .ask-small{opacity:.75;white-space:pre-line;margin-bottom:.8em}</Style>"
)
_COMMENT = (
    f'<TextArea name="{COMMENT}" toName="{ITEM}" rows="2" maxSubmissions="1" editable="true" '
    'placeholder="Comment (optional)"/>'
)


def make_verdict_page(
    *, options: bool = False, descriptions: bool = False, words: Mapping[Verdict, str] | None = None
) -> str:
    """Return the page that asks whether the answer is a given option.

    Parameters
    ----------
    options
        Whether items have different options, which are then listed.
    descriptions
        Whether a description of the class is shown below the question.
    words
        Shown names of verdicts, if they differ from the usual names. A verdict besides yes, no and unsure is
        offered if it is named here.
    """
    names = {verdict: verdict.value.capitalize() for verdict in VERDICTS} | dict(words or {})
    choices = "".join(
        f'<Choice value={quoteattr(name)} alias="{v.value}" hotkey="{v.value[0]}"/>'
        for v, name in names.items()
    )
    return _page(
        '<View className="ask-small"><Text name="list" value="$options"/></View>' if options else "",
        _choices(choices, f"Answer {', '.join([*names.values()][:-1])} or {[*names.values()][-1]}"),
        descriptions=descriptions,
    )


def make_panel_page(options: Sequence[str] = (), *, descriptions: bool = False) -> str:
    """Return the page that asks for the right one of K options.

    Parameters
    ----------
    options
        The study's classes; their aliases in the result are ``"0"``, ``"1"``, … in this order. Without
        classes, every task has its own ``choices``: a list of objects with ``value`` (shown) and ``alias``
        (the option's number).
    descriptions
        Whether descriptions of classes are shown below the question.
    """
    shown = "".join(
        f'<Choice value={quoteattr(o)} alias="{j}"' + (f' hotkey="{j + 1}"/>' if j < 9 else "/>")
        for j, o in enumerate(options)
    )
    source = "" if options else ' value="$choices"'
    return _page(_choices(shown, "Choose one", source=source), descriptions=descriptions)


def check_page(page: str, file: str | Path, more: Collection[Verdict] = ()) -> str:
    """Check a custom page and return it.

    Parameters
    ----------
    more
        Additional verdicts that the page may offer besides yes, no and unsure.

    Raises
    ------
    DataError
        If the page is not XML, has no single-choice element called ``verdict`` with ``yes``, ``no`` and
        ``unsure``, or has a tag that would show predictions. The message names file and line.
    """
    line = next((n for n, t in enumerate(page.splitlines(), 1) if f'name="{CHOICE}"' in t), None)

    def wrong(message: str) -> DataError:
        return DataError(message, file=file, line=line, field=CHOICE)

    try:
        root = ET.fromstring(page)  # noqa: S314  the user's own file
    except ET.ParseError as error:
        raise DataError(f"the page is not valid XML: {error}", file=file, line=error.position[0]) from None
    found = [tag for tag in root.iter("Choices") if tag.get("name") == CHOICE]
    if len(found) != 1:
        raise DataError(f'the page needs one <Choices name="{CHOICE}">', file=file, field=CHOICE)
    if found[0].get("choice", "single") not in ("single", "single-radio"):
        raise wrong("only one verdict is allowed: choice must be single-radio")
    offered = {choice.get("alias") or choice.get("value") for choice in found[0].iter("Choice")}
    for verdict in VERDICTS:
        if verdict.value not in offered:
            raise wrong(
                f'the page lacks the verdict {verdict.value!r}; add <Choice alias="{verdict.value}" …/>'
            )
    if extra := sorted(str(o) for o in offered - {v.value for v in (*VERDICTS, *more)}):
        raise wrong(f"unknown verdict {extra[0]!r}")
    return page


def is_same_page(a: str, b: str) -> bool:
    """Whether two pages are equivalent; equal texts are not required, because a server may rewrite XML."""
    try:
        left, right = (ET.canonicalize(page, strip_text=True) for page in (a, b))
    except ET.ParseError:
        return False
    return left == right


def _page(*answers: str, descriptions: bool) -> str:
    about = '<View className="ask-small"><Text name="about" value="$description"/></View>'
    parts = (
        '<Header value="$question" size="3"/>',
        about if descriptions else "",
        f'<View className="ask-text"><Text name="{ITEM}" value="$text"/></View>',
        *answers,
        _COMMENT,
    )
    return f'<View className="ask-page">{_STYLE}{"".join(parts)}</View>'


def _choices(inside: str, message: str, *, source: str = "") -> str:
    head = f'<Choices name="{CHOICE}" toName="{ITEM}" choice="single-radio" showInline="true" '
    return head + f'required="true" requiredMessage="{message}"{source}>{inside}</Choices>'


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
        raise DataError(told, file=study.path("study.toml"), field="label_studio.page")
    path = study.path(section.page or "")
    try:
        return check_page(read_text(path), path, OPEN_WORDS if study.is_open else ())
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the page cannot be read: {error}", file=path) from None


def hash_task(data: Mapping[str, object]) -> str:
    """Hash a task's data, to detect changes on the server."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
