"""What several verbs share: finding the study, reading its items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.config import STUDY_FILE, Study, read_study
from harness.datasets import ItemMapping, read_items, read_key, read_preset
from harness.datasets.items import items_from_rows
from harness.datasets.rows import read_hub
from harness.errors import ConfigError, DataError

if TYPE_CHECKING:
    import argparse

    from harness.types import Item


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add ``--study FILE``."""
    parser.add_argument("--study", default=STUDY_FILE, help="study file (default: %(default)s)")


def study_of(args: argparse.Namespace) -> Study:
    """Read the study file that the command names."""
    return read_study(args.study)


def study_items(study: Study) -> list[Item]:
    """Read the items that study.toml describes."""
    section = study.items
    if section.preset:
        file = study.path(section.file) if section.file else None
        return read_preset(section.preset, file, seed=study.study.seed, limit=section.limit)[0]
    mapping = ItemMapping(
        text=section.text,
        id=section.id,
        classes=tuple(section.classes),
        options=section.options if isinstance(section.options, str) else tuple(section.options),
        meta=tuple(section.meta),
        shuffle=section.shuffle,
        seed=study.study.seed,
    )
    if section.file:
        items = read_items(study.path(section.file), mapping)
    else:
        rows = read_hub(section.hub or "", config=section.hub_config, split=section.split)
        items = items_from_rows(rows, mapping, section.hub or "")
    return items[: section.limit]


def study_truth(study: Study, key_file: str | None, items: list[Item]) -> dict[str, int]:
    """Open the sealed key: a file, or the answers a preset comes with.

    Raises
    ------
    ConfigError
        If there is neither.
    """
    if key_file:
        return read_key(key_file, items)
    if not study.items.preset:
        raise ConfigError("give the sealed key with --key FILE (columns id,label)")
    section = study.items
    file = study.path(section.file) if section.file else None
    truth = read_preset(section.preset or "", file, seed=study.study.seed, limit=section.limit)[1]
    missing = [item.id for item in items if item.id not in truth]
    if missing:
        raise DataError(f"the preset has no answer for the stored item {missing[0]!r}", file=file)
    return truth
