"""Summarise a study's items before they are stored, and write the items and the answer key to files."""

from __future__ import annotations

import csv
import io
import json
from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import chain, starmap
from pathlib import Path

import numpy as np

from oversight.harness.analysis.inputs import load_study_preset, stream_fields, study_items, template_of
from oversight.harness.columns import RepeatedTexts, count_repeated, digest_text
from oversight.harness.config import Study
from oversight.harness.datasets import BadRows, PresetReading
from oversight.harness.errors import BadInput
from oversight.harness.output import guard_cell
from oversight.harness.platform import write_whole
from oversight.harness.store import Store, has_database
from oversight.harness.types import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsOverview:
    """Summary of the items of a study.

    Attributes
    ----------
    items
        Number of items.
    by_options
        Number of options → number of items with this number of options.
    median_words, longest_words
        Median and maximum number of words in an item's text.
    repeated
        Number of items that have the same text and options as another item.
    first
        The first item.
    removed
        Ids of items that were removed from the study but are still in the file.
    bad
        Left-out rows, with their errors.
    preset
        Result of reading a public benchmark; None for other items.
    """

    items: int
    by_options: dict[int, int]
    median_words: int
    longest_words: int
    repeated: RepeatedTexts
    first: Item
    removed: list[str]
    bad: BadRows
    preset: PresetReading | None


def check_items(study: Study) -> ItemsOverview:
    """Summarise a study's items and check its prompt, without storing anything.

    Raises the same errors as reading the items and the prompt.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> overview = check_items(read_study("study.toml"))
    >>> overview.items, overview.by_options
    (54, {4: 54})
    """
    bad, gone, removed = BadRows(), _read_removed(study), list[str]()
    preset = load_study_preset(study) if study.items.preset else None
    fields = chain.from_iterable(stream_fields(study, bad))
    items = iter(preset.items) if preset else starmap(Item, fields)
    first = next(items)
    by_options, by_words, digests = Counter[int](), Counter[int](), array("q")
    for item in chain([first], items):
        by_options[len(item.options)] += 1
        by_words[len(item.text.split())] += 1
        digests.append(digest_text(item.text, item.options))
        if item.id in gone:
            removed.append(item.id)
    template_of(study)
    words = sorted(by_words.elements())
    return ItemsOverview(
        items=len(words),
        by_options=dict(sorted(by_options.items())),
        median_words=words[len(words) // 2],
        longest_words=words[-1],
        repeated=count_repeated(np.array(digests)),
        first=first,
        removed=removed,
        bad=bad,
        preset=preset,
    )


def _read_removed(study: Study) -> set[str]:
    if not has_database(study.store_url):
        return set()
    with Store(study.store_url) as store:
        return store.withdrawals.read_removed()


def write_items(study: Study, file: str, key_file: str | None) -> int:
    """Write a study's items as JSON Lines, and optionally the true options to `key_file`.

    Returns the number of items. Options are in display order, so that their positions do not reveal the true
    options. `key_file` gets the columns ``id,label``. True options are known only if the items come from a
    preset.

    Raises
    ------
    BadInput
        If a file already exists, both files have the same name, or `key_file` is given for a study without a
        preset.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> write_items(read_study("study.toml"), "written.jsonl", None)
    54
    """
    if there := [name for name in (file, key_file) if name and Path(name).exists()]:
        raise BadInput(f"{there[0]} exists already; give another name")
    if key_file and Path(key_file).resolve() == Path(file).resolve():
        raise BadInput(f"{file} is given for both the items and the true answers; give --key another file")
    if key_file and not study.items.preset:
        raise BadInput("--key: only presets contain the true answers, and this study uses no preset")
    reading = load_study_preset(study) if study.items.preset else None
    items = reading.items if reading else study_items(study)
    if reading and key_file:
        buffer = io.StringIO()
        rows = csv.writer(buffer, lineterminator="\n")
        rows.writerow(["id", "label"])
        rows.writerows(map(guard_cell, (i.id, i.options[reading.truth[i.id]])) for i in items)
        write_whole(buffer.getvalue(), key_file)
    write_whole("".join(f"{_as_line(item)}\n" for item in items), file)
    return len(items)


def _as_line(item: Item) -> str:
    record = {"id": item.id, "text": item.text, "options": list(item.shown_options), **item.meta}
    return json.dumps(record, ensure_ascii=False)
