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

    if args.to is not None:
        if args.study != STUDY_FILE:
            raise BadInput("--study: an audit file is checked without the study; leave --study out")
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
            lines.insert(
                0, f"this database is {mark}; it collects no answers until you run: oversight store adopt"
            )
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
    holds = "the events lead to the given head, and nothing contradicts them"
    return _tell_rest(found, [first], not is_whole, "no byte was changed" if is_whole else holds)


def _tell_study(found: Audit, head: str | None) -> list[str]:
    first = [
        f"{counted(found.events, 'event')} in the trail{_tell_redacted(found)}",
        f"{counted(found.comments, 'comment')} checked, {found.forgotten:,} erased",
        _tell_answers(found),
    ]
    return _tell_rest(found, first, head is not None, "nothing contradicts the trail")


def _tell_rest(found: Audit, first: list[str], is_covered: object, holds: str) -> list[str]:
    """Return the lines of `first`, lines on freezes, ids and the head of the chain, and a result line.

    If a head was given, and the chain contains it, a further line says how many events that head covers.
    """
    lines = [*first, *_tell_freezes(found), *_tell_ids(found.ids), f"head: {found.head}"]
    if is_covered and found.covered is not None:
        after = found.events - found.covered
        told = f"the given head covers {found.covered:,} of {counted(found.events, 'event')}"
        lines.append(told + (f"; {after:,} followed" if after else ""))
    return [
        *lines,
        "verification failed" if found.findings.number else f"verification passed: {holds}",
    ]


def _tell_redacted(found: Audit) -> str:
    redacted = found.redacted
    return f" ({redacted:,} redacted, because an item or a person was erased)" if redacted else ""


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
    if ids.sealed and not ids.checked:
        why = "they are computed from a secret key that only the study's database contains"
        return [f"question ids: {ids.unchecked:,} not checked: {why}"]
    lines = []
    if ids.checked:
        by = "the study's secret key"
        if not ids.sealed:
            by = "the seed alone, as in older versions: anyone with the seed can recognise control questions"
        lines.append(f"question ids: {ids.checked:,} computed again from {by}")
    if ids.unchecked:
        lines.append(
            f"question ids: {ids.unchecked:,} not checked: another program drew them, or their expert was "
            "erased"
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
