"""Freeze a study's design: hash it into the audit trail whenever questions are drawn.

A ``design`` event records the number and digest of all drawn rows, the settings that determine the design and
the estimates, and the number of answers so far. If this number is 0, the design was frozen
before the first answer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from oversight.harness.config import Study
from oversight.harness.output import read_text
from oversight.harness.store import DESIGN_PARTS, AuditEvent, RowsDigest, Store

_SETTINGS: Any = {
    "study": {"name", "seed"}, "items": True, "experts": True, "people": True,
    "estimate": True, "judges": True, "open": True,
}  # fmt: skip
_APART: Any = {"experts": {"deadline"}}
"""Settings that may change without changing the design."""
_OF_EXPERT = {"name": None, "classes": None, "capacity": None, "absent": False}
"""Fields of the roster that determine which questions an expert gets, with their defaults."""

_ADDED = ("open_answers", "units", "unit_draws")
"""Parts that designs frozen by older versions do not record."""


class DesignFreeze:
    """Records the design in the audit trail after a draw.

    Create the object, and call `end`, inside the draw's transaction, so that the draw and its event are
    stored together or not at all.

    Parameters
    ----------
    study, store
        The study, and its open database before the draw.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self._study, self._store = study, store
        self._before = store.audit.find_last("design")
        # Compare the frozen rows first, because the next digest would hide a change of them.
        self._altered = self._before is not None and bool(
            compare_parts(self._before.detail, store.design.measure())
        )

    def end(self, new: int) -> None:
        """Record a freeze of the design if the design has changed since the last freeze.

        `new` is the number of rows that were just drawn or changed. If it is 0, a freeze is recorded only if
        settings or numbers of rows differ from those of the last freeze.
        """
        frozen = describe_settings(self._study)
        if not new:
            if self._before is None:
                return  # nothing was drawn yet, or only by an older version, which did not record freezes
            parts = self._before.detail["parts"]
            numbers = {name: parts[name]["number"] if name in parts else 0 for name in DESIGN_PARTS}
            if numbers == self._store.design.count_parts() and not find_changes(self._before.detail, frozen):
                return
        told = {
            **frozen,
            "parts": self._store.design.measure(),
            "answers": self._store.design.count_replies(),
            "altered": self._altered,
        }
        self._store.audit.append([AuditEvent(kind="design", way="command", detail=told)])


def describe_settings(study: Study) -> dict[str, Any]:
    """Return the settings that determine design and estimates, and the roster's digest."""
    settings = study.model_dump(mode="json", include=_SETTINGS, exclude=_APART)
    return {"settings": settings, "roster": digest_roster(study.path(study.experts.roster))}


def digest_roster(path: Path) -> str:
    """Hash the roster's names, classes, capacities and absences; empty if the roster is unreadable."""
    try:
        experts = tomllib.loads(read_text(path)).get("expert", [])
        rows = [[one.get(name, _OF_EXPERT[name]) for name in _OF_EXPERT] for one in experts]
        return sha256(orjson.dumps(rows, default=str)).hexdigest()
    except (OSError, ValueError, RecursionError, AttributeError, TypeError):
        return ""


def compare_parts(frozen: Mapping[str, Any], now: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return one sentence per part of the design that differs from its frozen state."""
    found = []
    for name, part in now.items():
        if name in _ADDED and name not in frozen["parts"]:
            continue
        before = frozen["parts"].get(name, {"number": 0, "digest": RowsDigest().digest()})
        what = name.replace("_", " ")
        if part["number"] != before["number"]:
            removed = "removed" if part["number"] < before["number"] else "added"
            told = f"{before['number']:,} were frozen, {part['number']:,} are stored"
            found.append(f"{what}: {told}: {removed} after the freeze")
        elif part["digest"] != before["digest"]:
            found.append(f"{what}: altered or replaced after the freeze")
    return found


def find_changes(
    frozen: Mapping[str, Any], later: Mapping[str, Any], *, then: str = "when frozen", now: str = "now"
) -> list[str]:
    """Return one sentence per setting whose later value differs from the frozen value."""
    before, after = _flatten(frozen["settings"]), _flatten(later["settings"])
    unset = _flatten(_defaults())
    found = []
    for settings in (before, after):  # only older versions had this setting; `verify` checks each analysis
        settings.pop("estimate.looks", None)
    for name in dict.fromkeys([*before, *after]):
        # A missing setting had its default, because the version that froze the design did not have it.
        old, new = before.get(name, unset.get(name)), after.get(name, unset.get(name))
        if old != new:
            found.append(f"setting {name}: {_show(old)} {then}, {_show(new)} {now}")
    if frozen["roster"] != later["roster"]:
        found.append(f"the roster {now} differs from the roster {then} (apart from addresses)")
    return found


def _defaults() -> dict[str, Any]:
    whole = Study.model_validate({"study": {"name": "s"}, "items": {"file": "f"}})
    settings = whole.model_dump(mode="json", include=_SETTINGS, exclude=_APART)
    del settings["study"]["name"], settings["items"]["file"]
    return settings


def _flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as a dictionary from ``section.key`` to value."""
    return {
        name if key is None else f"{name}.{key}": value
        for name, section in settings.items()
        for key, value in (section.items() if isinstance(section, Mapping) else [(None, section)])
    }


def _show(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else text[:77] + "…"
