"""Check that the study's database, or a bundle written by ``label audit``, was not altered.

In a database, three things are checked: the links between events, the answers and comments against their
events, and the drawn questions against the frozen design. The check is stronger with a head of the chain that
somebody noted earlier. Without it, the owner could have replaced the whole content unnoticed.
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

_UNCHECKED = "no --head was given, so a complete rewrite of the events would not be detected"


def verify(args: argparse.Namespace) -> int:
    """Check the database or the bundle, and print violations; the exit code is 1 if there are any."""
    from oversight.harness.analysis import audit_bundle, audit_study

    mark = None
    names: tuple[str, ...] = ("study", "lines", "link")
    if args.file is None:
        found, names = audit_study(study_of(args), args.head), ("comments", "forgotten")
        with Store(study_of(args).store_url) as store:
            mark = store.marks.read_mark()
    elif args.study != STUDY_FILE:
        raise BadInput("--study: an audit file is checked without the study; leave --study out")
    else:
        found = audit_bundle(args.file, args.head)
    payload, lines = _to_json(found, *names), _tell(found, args.head)
    if mark is not None:
        payload["mark"] = asdict(mark)
        told = f"this database is {mark}; it collects no answers until you run: oversight store adopt"
        lines.insert(0, told)
    findings = found.findings
    if args.head is None:
        lines.append(_UNCHECKED)
    if findings.number:
        lines += [f"{counted(findings.number, 'finding')}:", *(f"  {text}" for text in findings.lines())]
    result = {"holds": not findings.number, "findings": findings.shown, "number": findings.number}
    emit(args, {**result, "checked_against_head": args.head is not None, **payload}, "\n".join(lines))
    return 1 if findings.number else 0


def _tell(found: Audit, head: str | None) -> list[str]:
    """Describe the events, answers, freezes and ids that were checked, the head of the chain, and the result.

    If a head was given, and the chain contains it, a line says how many events that head covers.
    """
    redacted = f" ({found.redacted:,} redacted, because an item or a person was erased)"
    redacted = redacted if found.redacted else ""
    events, holds = counted(found.events, "event"), "nothing contradicts the trail"
    lines = [
        f"{events} in the trail{redacted}",
        f"{counted(found.comments, 'comment')} checked, {found.forgotten:,} erased",
        _tell_answers(found),
    ]
    is_covered = head is not None
    if found.lines:
        name, rows = make_printable(found.study), counted(found.lines, "line")
        lines = [f"audit of {name!r}: {rows}, {events}, {_tell_answers(found)}{redacted}"]
        is_covered = head is not None and head.strip().lower() != found.head
        holds = "no byte was changed"
        if is_covered:
            holds = "the events lead to the given head, and nothing contradicts them"
    lines += [*_tell_freezes(found), *_tell_ids(found.ids), f"head: {found.head}"]
    if is_covered and found.covered is not None:
        after = found.events - found.covered
        told = f"the given head covers {found.covered:,} of {events}"
        lines.append(told + (f"; {after:,} followed" if after else ""))
    failed = found.findings.number
    return [*lines, "verification failed" if failed else f"verification passed: {holds}"]


def _tell_answers(found: Audit) -> str:
    text = counted(found.answers, "answer")
    if found.uncovered:
        text += f" ({found.uncovered:,} without an event, because older versions wrote no events)"
    if found.unchecked:
        text += f" ({found.unchecked:,} not checked: some answers of their batch were replaced or withdrawn)"
    return text


def _tell_freezes(found: Audit) -> list[str]:
    """Describe how the design was frozen, and what changed between freezes."""
    if not found.freezes:
        is_drawn = found.drawn or found.lines  # `lines` is 0 unless a bundle was checked
        why = "an older version drew the questions" if is_drawn else "no questions were drawn"
        return [f"no frozen design to check: {why}"]
    lines = []
    for freeze in found.freezes:
        when = f"after {counted(freeze.answers, 'answer')}" if freeze.answers else "before the first answer"
        numbers = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in freeze.numbers.items())
        again = "design frozen" if freeze is found.freezes[0] else "frozen again"
        lines.append(f"{again} {when}, {make_printable(freeze.at)}: {numbers}")
        lines += [f"  {text}" for text in freeze.changes]
    return lines


def _tell_ids(ids: CheckedIds) -> list[str]:
    """Describe the source of the questions' ids, and how many could not be checked."""
    by = "the study's secret key"
    why = "another program drew them, or their expert was erased"
    if not ids.sealed:
        by = "the seed alone, as in older versions: anyone with the seed can recognise control questions"
    elif not ids.checked:
        why = "they are computed from a secret key that only the study's database contains"
    lines = []
    if ids.checked:
        lines.append(f"question ids: {ids.checked:,} computed again from {by}")
    if ids.unchecked or (ids.sealed and not ids.checked):
        lines.append(f"question ids: {ids.unchecked:,} not checked: {why}")
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
