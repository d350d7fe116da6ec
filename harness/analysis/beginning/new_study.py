"""A study to start from: a commented study.toml with its schema, a roster, and a prompt."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from pathlib import Path

from oversight.harness.analysis.beginning.study_proposal import StudyProposal, limit_tokens
from oversight.harness.analysis.beginning.study_text import ASK_CLASS, ASK_LETTER, FIXED, OWN, PRESET, STUDY
from oversight.harness.config import SCHEMA_FILE, STUDY_FILE, SearchSection, read_schema_text
from oversight.harness.datasets import PRESETS
from oversight.harness.errors import BadInput

_TYPICAL = 100
"""Characters of the longest option where nothing is known of the options yet."""

_SEED_BITS = 63
"""All that databases can store: experts who know some draws could find a short seed by trying."""


def begin_study(
    folder: str | Path,
    *,
    name: str | None = None,
    items: str | None = None,
    proposal: StudyProposal | None = None,
    classes: Sequence[str] = (),
    preset: str | None = None,
    seed: int | None = None,
) -> list[Path]:
    """Write the files that are not there yet, never over one; which they are.

    Parameters
    ----------
    name
        Name of the study; the folder's by default.
    items
        File with the items, as seen from the folder, or a local copy of the preset's.
    proposal
        What the columns of that file are.
    classes
        Fixed classes, where there is no proposal; without any, every item brings its own options.
    preset
        A public benchmark instead.
    seed
        Seed of every draw; a random one by default, which nobody can guess or try out.

    Raises
    ------
    BadInput
        If the folder holds a study already, or the proposal lacks the text, or both classes and options.
    """
    folder = Path(folder)
    target = refuse_study(folder)
    if proposal:
        check_proposal(proposal, items or "")
    given = PRESETS[preset].classes if preset else proposal.classes if proposal else classes
    longest = max(map(len, given), default=_TYPICAL)
    folder.mkdir(parents=True, exist_ok=True)
    text = STUDY.format(
        name=_toml(name or folder.resolve().name),
        seed=_pad(f"seed = {secrets.randbits(_SEED_BITS) if seed is None else seed}"),
        source=_source(items, given, preset, proposal),
        id=_set("id", (proposal and proposal.id) or "", "id"),
        text=_set("text", (proposal and proposal.text) or "", "text"),
        meta=_set("meta", (proposal and proposal.meta) or (), ("subject",)),
        max_tokens=_pad(f"max_tokens = {proposal.max_tokens if proposal else limit_tokens(longest)}"),
        candidates=SearchSection().candidates,
    )
    files = {
        target: text,
        folder / SCHEMA_FILE: read_schema_text(),
        folder / "experts.toml": _roster(given),
        folder / "prompt.txt": ASK_CLASS if given else ASK_LETTER,
    }
    fresh = {path: content for path, content in files.items() if not path.exists()}
    for path, content in fresh.items():
        path.write_text(content, encoding="utf-8")
    return list(fresh)


def refuse_study(folder: str | Path) -> Path:
    """Where a folder's study file goes.

    Raises
    ------
    BadInput
        If there is one already.
    """
    target = Path(folder) / STUDY_FILE
    if target.exists():
        raise BadInput(f"{target} is there already; edit it, or give another --folder")
    return target


def check_proposal(proposal: StudyProposal, items: str) -> None:
    """Refuse what no study can be made of; says what to give.

    Raises
    ------
    BadInput
        If there is no row, no column holds the text, or there are neither classes nor options.
    """
    if not proposal.rows:
        raise BadInput(f"{items}: there are no rows in it")
    known = ", ".join(proposal.columns) or "none"
    if proposal.text not in proposal.columns:
        named = f"there is no column {proposal.text!r}" if proposal.text else "which column holds the text?"
        raise BadInput(f"{items}: {named} there are: {known}; give --text COLUMN")
    if len(proposal.classes) < 2 and not proposal.options:
        raise BadInput(
            f"{items}: no column holds options (a list, or A, B, C, …), none is a label of few values; give "
            f"the classes with --classes a,b,c; columns are: {known}"
        )


def _source(
    items: str | None, classes: Sequence[str], preset: str | None, proposal: StudyProposal | None
) -> str:
    if preset:
        file = f"file = {_toml(items)}" if items else '# file = "local-copy.parquet"   # else the hub'
        return PRESET.format(preset=_toml(preset), known=", ".join(PRESETS), file=file)
    options = (proposal and proposal.options) or "options"
    return (FIXED if classes else OWN).format(
        file=_pad(f"file = {_toml(items or 'items.jsonl')}"),
        classes=_value(tuple(classes)),
        options=_pad(f"options = {_value(options)}"),
    )


def _set(key: str, value: str | Sequence[str], example: str | Sequence[str]) -> str:
    """A line that sets a key, or shows in a comment how it would be set."""
    return _pad(f"{key} = {_value(value)}" if value else f"# {key} = {_value(example)}")


def _pad(line: str) -> str:
    """A line as wide as the comments behind the others allow for."""
    return f"{line} ".ljust(31)


def _roster(classes: Sequence[str]) -> str:
    head = "# Who answers for which class. capacity = N and absent = true are optional.\n"
    entries = [(f"expert-{j}", c) for j, c in enumerate(classes, start=1)] or [("expert-1", "*")]
    return head + "".join(
        f"\n[[expert]]\nname = {_toml(name)}\nclasses = [{_toml(c)}]\n" for name, c in entries
    )


def _value(value: str | Sequence[str]) -> str:
    return _toml(value) if isinstance(value, str) else "[" + ", ".join(map(_toml, value)) + "]"


def _toml(text: str) -> str:
    """A text in TOML, whose basic strings are written as JSON's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
