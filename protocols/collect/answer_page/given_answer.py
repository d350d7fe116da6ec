"""Validate an answer sent by the page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from oversight.harness import BadInput

LONGEST_COMMENT = 5000
_KEY = re.compile(r"[0-9a-f]{32}")
_VALUE = re.compile(r"yes|no|unsure|skip|[0-9]{1,4}")
_MARK = re.compile(r"[0-9a-f]{16}")
_FIELDS = frozenset({"key", "id", "value", "was", "comment", "seconds", "mark"})
_LONGEST_ID = 200
_LONGEST_LOOK = 86_400.0


class WrongAnswer(BadInput):
    """The request is not an answer to an asked question; sending it again will not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer as sent by a browser.

    Attributes
    ----------
    key
        32 hexadecimal digits that the browser drew for this answer and repeats if it sends the answer again.
    asked_id
        Id of the question or assignment.
    value
        ``yes``, ``no``, ``unsure`` or ``skip``; for a panel the position of an option as shown, from 0, or
        ``skip``.
    was
        The earlier answer that the page showed, in the form of `value`; None if the question was open.
    comment
        At most `LONGEST_COMMENT` characters.
    seconds
        Seconds for which the question was visible, in [0, 86,400]; None if unknown.
    mark
        Digest of the question as it was shown, see `QuestionSheet.show_question`; None if an earlier version
        of the page showed it.
    """

    key: str
    asked_id: str
    value: str
    was: str | None = None
    comment: str = ""
    seconds: float | None = None
    mark: str | None = None


def parse_answer(body: bytes) -> GivenAnswer:
    """Read an answer from the body of a request.

    Raises
    ------
    WrongAnswer
        If a field is wrong; the message names the field but does not repeat its content.
    """
    try:
        told: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise WrongAnswer("the body is not JSON") from None
    if not isinstance(told, dict) or not {"key", "id", "value"} <= told.keys() <= _FIELDS:
        raise WrongAnswer(
            "an answer must have the fields 'key', 'id' and 'value'; the fields 'was', 'comment', 'seconds' "
            "and 'mark' are optional"
        )
    was, seconds, comment = told.get("was"), told.get("seconds"), told.get("comment", "")
    mark = told.get("mark")
    if not (isinstance(comment, str) and len(comment) <= LONGEST_COMMENT):
        raise WrongAnswer(f"'comment' must be a text of at most {LONGEST_COMMENT} characters")
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 <= seconds <= _LONGEST_LOOK):
        raise WrongAnswer("'seconds' must be a number in [0, 86400]")
    return GivenAnswer(
        key=_text(told, "key", _KEY),
        asked_id=_text(told, "id"),
        value=_text(told, "value", _VALUE),
        was=None if was is None else _text(told, "was", _VALUE),
        comment=comment.strip(),
        seconds=None if seconds is None else float(seconds),
        mark=None if mark is None else _text(told, "mark", _MARK),
    )


def _text(told: dict[str, Any], name: str, form: re.Pattern[str] | None = None) -> str:
    value = told[name]
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_ID:
        raise WrongAnswer(f"{name} must be a text")
    if form is not None and form.fullmatch(value) is None:
        raise WrongAnswer(f"{name} is none")
    return value
