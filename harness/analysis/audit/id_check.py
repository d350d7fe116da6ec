"""Ids of questions, held against what they must follow from: the study's secret key, or its seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oversight.harness.analysis.audit.findings import AuditFindings
from oversight.harness.registry import PROTOCOLS
from oversight.harness.store import DESIGN_PARTS
from oversight.harness.types import SECOND_QUESTIONS, control_id, question_id, seal_ids


@dataclass(slots=True, kw_only=True)
class CheckedIds:
    """What a check of ids says.

    Attributes
    ----------
    sealed
        Whether ids follow from the study's secret key; if not, an older version drew the first questions, and
        whoever knows the seed can tell control questions.
    checked
        How many ids were computed again.
    unchecked
        How many could not be: without the key, or of questions that another program drew.
    """

    sealed: bool = False
    checked: int = 0
    unchecked: int = 0


class IdCheck:
    """The ids of questions, control questions among them, computed again.

    Parameters
    ----------
    findings
        Takes sealed ids that do not follow.
    key
        The study's key; empty if it has none, None if it has one that is not at hand.
    """

    def __init__(self, findings: AuditFindings, key: bytes | None = b"") -> None:
        self._findings, self.key = findings, key
        self.found = CheckedIds()

    def add(self, part: str, rows: Sequence[Sequence[Any]]) -> None:
        """Check a portion of the rows of a part of the design, with the columns that the part has."""
        if part not in ("questions", "controls"):
            return
        self.found.sealed = self.key != b""
        for row in rows:
            told = dict(zip(DESIGN_PARTS[part].columns, row, strict=False))
            follows = self.key is not None and _compute(part, told, self.key) == [told["id"]]
            is_wrong = bool(self.key) and not follows and (part == "controls" or _is_known(told["protocol"]))
            self.found.checked += follows or is_wrong
            # without a key, a program could give any id to a question that it drew
            self.found.unchecked += not (follows or is_wrong)
            if is_wrong:
                what = "control question" if part == "controls" else "question"
                why = "its id does not follow from the study's secret key and what it asks"
                self._findings.add(f"{what} {told['id']}: {why}")


def _is_known(protocol: object) -> bool:
    return protocol in PROTOCOLS or protocol == SECOND_QUESTIONS


def _compute(part: str, told: dict[str, Any], key: bytes) -> list[str]:
    """The id of what a row tells; none if a column is of a kind that was never stored."""
    seed, item, option = told["seed"], told["item_id"], told["option"]
    try:
        if part == "controls":
            plain = control_id(told["kind"], seed, item, option, told["expert"])
        else:
            plain = question_id(told["protocol"], seed, item, option)
    except (TypeError, UnicodeEncodeError):
        return []
    return seal_ids(key, [plain])
