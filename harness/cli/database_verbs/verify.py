"""Check that nothing was altered: the study's own database, or a bundle that `label audit` wrote.

Without a bundle, the database is checked: the links of all events, answers and comments against their events,
and the drawn questions against the frozen design. A head that somebody noted makes the check stronger:
without one, the owner of the database or the file could have replaced it completely.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from oversight.harness.cli.conventions import emit, study_of
from oversight.harness.config import STUDY_FILE
from oversight.harness.errors import BadInput
from oversight.harness.output import counted, make_printable
from oversight.harness.store import Store

if TYPE_CHECKING:
    from oversight.harness.analysis import Audit, CheckedIds

_UNCHECKED = "not checked against a head: whoever wrote the file could also have written the head"


def verify(args: argparse.Namespace) -> int:
    """Check, and print violations; with violations, the exit code is 1."""
    from oversight.harness.analysis import audit_bundle, audit_study

    if args.to is not None:
        if args.study != STUDY_FILE:
            raise BadInput("--study: a bundle is checked by itself; leave --study out")
        found = audit_bundle(args.to, args.head)
        payload = _to_json(found, "study", "lines", "link")
        lines = _tell_bundle(found, args.head)
    else:
        found = audit_study(study_of(args), args.head)
        payload, lines = _to_json(found, "comments", "forgotten"), _tell_study(found, args.head)
        with Store(study_of(args).store_url) as store:
            mark = store.marks.read_mark()
        if mark is not None:
            payload["mark"] = asdict(mark)
            lines.insert(0, f"this database is {mark}; it collects nothing until: oversight store adopt")
    findings = found.findings
    if args.head is None:
        lines.append(_UNCHECKED)
    if findings.number:
        lines += [f"{counted(findings.number, 'finding')}:", *(f"  {text}" for text in findings.lines())]
    told = {"holds": not findings.number, "findings": findings.shown, "number": findings.number}
    emit(args, {**told, "checked_against_head": args.head is not None, **payload}, "\n".join(lines))
    return 1 if findings.number else 0


def _tell_bundle(found: Audit, head: str | None) -> list[str]:
    first = (
        f"audit of {make_printable(found.study)!r}: {counted(found.lines, 'line')}, "
        f"{counted(found.events, 'event')}, {_tell_answers(found)}{_tell_redacted(found)}"
    )
    is_whole = head is None or head.strip().lower() == found.head
    holds = "the events are those of the head, and nothing contradicts them"
    return _tell_rest(found, [first], not is_whole, "every byte is as it was written" if is_whole else holds)


def _tell_study(found: Audit, head: str | None) -> list[str]:
    first = [
        f"{counted(found.events, 'event')} in the trail{_tell_redacted(found)}",
        f"{counted(found.comments, 'comment')} checked, {found.forgotten:,} forgotten",
        _tell_answers(found),
    ]
    return _tell_rest(found, first, head is not None, "nothing contradicts the trail")


def _tell_rest(found: Audit, first: list[str], is_covered: object, holds: str) -> list[str]:
    """Append lines about freezes, ids, head, the events that the given head covers, and the conclusion."""
    lines = [*first, *_tell_freezes(found), *_tell_ids(found.ids), f"head: {found.head}"]
    if is_covered and found.covered is not None:
        after = found.events - found.covered
        told = f"the given head covers {found.covered:,} of {counted(found.events, 'event')}"
        lines.append(told + (f"; {after:,} followed" if after else ""))
    return [*lines, "it does not hold" if found.findings.number else f"it holds: {holds}"]


def _tell_redacted(found: Audit) -> str:
    redacted = found.redacted
    return f" ({redacted:,} tell less than they did: an item or a person was erased)" if redacted else ""


def _tell_answers(found: Audit) -> str:
    text = counted(found.answers, "answer")
    if found.uncovered:
        text += f" ({found.uncovered:,} not covered: no event tells of them, as older versions wrote none)"
    if found.unchecked:
        text += f" ({found.unchecked:,} not checked: a part of their batch was replaced later)"
    return text


def _tell_freezes(found: Audit) -> list[str]:
    """Describe how the design was frozen, and what changed between freezes."""
    if not found.freezes:
        is_drawn = found.drawn or found.lines  # only a bundle has lines
        why = "drawn by a version that did not freeze designs" if is_drawn else "nothing was drawn"
        return [f"design not covered: {why}"]
    lines = []
    for freeze in found.freezes:
        when = (
            f"with {counted(freeze.answers, 'answer')} there" if freeze.answers else "before the first answer"
        )
        numbers = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in freeze.numbers.items())
        again = "design frozen" if freeze is found.freezes[0] else "frozen anew"
        lines.append(f"{again} {when}, {make_printable(freeze.at)}: {numbers}")
        lines += [f"  {text}" for text in freeze.changes]
    return lines


def _tell_ids(ids: CheckedIds) -> list[str]:
    """Describe the source of the questions' ids, and how many could not be checked."""
    if ids.sealed and not ids.checked:
        why = "only the study's database holds the secret key that they follow from"
        return [f"question ids: {ids.unchecked:,} not checked: {why}"]
    lines = []
    if ids.checked:
        by = "the study's secret key"
        if not ids.sealed:
            by = "the seed alone, as an older version drew them: who knows it can tell control questions"
        lines.append(f"question ids: {ids.checked:,} computed again from {by}")
    if ids.unchecked:
        lines.append(
            f"question ids: {ids.unchecked:,} not checked: another program drew them, or the expert is erased"
        )
    return lines


def _to_json(found: Audit, *names: str) -> dict[str, Any]:
    names = ("events", "head", "covered", "answers", "uncovered", "unchecked", "redacted", *names)
    freezes = [asdict(freeze) for freeze in found.freezes]
    return {
        **{name: getattr(found, name) for name in names},
        "ids": asdict(found.ids),
        "frozen_before_first_answer": found.freezes[0].answers == 0 if freezes else None,
        "designs": freezes,
    }
