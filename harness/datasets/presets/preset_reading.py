"""A public benchmark is read: its items, apart from them its sealed key, and what became of its rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from oversight.harness.datasets.item_files import iterate_items
from oversight.harness.datasets.item_mapping import ItemMapping
from oversight.harness.datasets.presets.public_benchmarks import PRESETS, Preset
from oversight.harness.datasets.row import Row
from oversight.harness.datasets.rows import read_hub, read_rows
from oversight.harness.errors import BadInput, DataError
from oversight.harness.types import Item, fold_text


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetReading:
    """A benchmark as it was read.

    Attributes
    ----------
    items, truth
        The items, and the sealed key to them (item id → true option, in source order).
    rows
        Rows that were read.
    left_out
        Rows that became no item, by the reason.
    whole
        Whether the source was read to its end; not beyond `limit`.
    published
        Rows that its authors publish, by split; empty where no number is known here.
    split
        The split that was read; None of a file.
    printed
        Items that the paper has of the benchmark; None where it prints no number, or of another split.
    """

    items: list[Item]
    truth: dict[str, int]
    rows: int
    left_out: Mapping[str, int]
    whole: bool
    published: Mapping[str, int]
    split: str | None
    printed: int | None

    def lines(self) -> list[str]:
        """What became of the rows, held against the published numbers; what was not checked says so."""
        reasons = "".join(f", {n:,} {reason}" for reason, n in self.left_out.items())
        told = [f"{self.rows:,} rows read{reasons}; {len(self.items):,} items"]
        if not self.whole:
            return [*told, "numbers not checked: no more than the limit was read"]
        known = {s: n for s, n in self.published.items() if self.split in (None, s)}
        of = ", ".join(f"{n:,} in {split}" for split, n in known.items())
        same = self.rows in known.values()
        told += [f"published: {of}: {'as many' if same else 'another number of rows'}"] if known else []
        told += [] if known else ["rows not checked: how many are published is not known here"]
        if self.printed is None:
            return [*told, "items not checked: the paper prints no number"]
        gap = len(self.items) - self.printed
        return [*told, f"the paper: {self.printed:,} items: {'as many' if not gap else f'{gap:+,} here'}"]


def read_preset(
    name: str,
    file: str | Path | None = None,
    *,
    seed: int = 0,
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
) -> tuple[list[Item], dict[str, int]]:
    """Read a benchmark: its items, and apart from them the sealed key (item id → true option).

    Parameters
    ----------
    name
        One of `PRESETS`.
    file
        Local file in the columns of the hub's; None reads from the hub.
    seed
        Seed of the shuffle of the options, and of distractors that are drawn.
    limit
        Read at most so many items; from the hub nothing beyond is fetched.
    config, split, revision
        Of the hub's data set, as in ``datasets.load_dataset``; what the paper uses by default.

    Raises
    ------
    BadInput
        If there is no such preset or configuration, `limit` is below 1, or `config`, `split`, `revision`
        are given with a file.
    DataError
        Naming row and column, if a row is not as the benchmark publishes it; or if the hub cannot be read.
    """
    read = load_preset(name, file, seed=seed, limit=limit, config=config, split=split, revision=revision)
    return read.items, read.truth


def load_preset(
    name: str,
    file: str | Path | None = None,
    *,
    seed: int = 0,
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
) -> PresetReading:
    """Read the same, with what became of its rows; see `read_preset`."""
    if name not in PRESETS:
        raise BadInput(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    if limit is not None and limit < 1:
        raise BadInput(f"limit must be 1 or more, is {limit}")
    preset = PRESETS[name]
    _refuse(name, preset, file, {"config": config, "split": split, "revision": revision})
    chosen, part = config or preset.config, split or preset.split
    if file is None:
        rows = read_hub(
            preset.hub, config=chosen or None, split=part, revision=revision, streaming=limit is not None
        )
    else:
        rows = read_rows(file)
    left_out = Counter[str]()
    mapping = ItemMapping(classes=preset.classes, meta=preset.meta, seed=seed)
    kept = list(islice(_converted(rows, preset, name, seed, left_out), limit))
    items = list(iterate_items(kept, mapping, str(file or preset.hub)))
    is_papers = (chosen, part) == (preset.config, preset.split)
    return PresetReading(
        items=items,
        truth={item.id: int(row.fields["answer"]) for item, row in zip(items, kept, strict=True)},
        rows=len(kept) + left_out.total(),
        left_out=dict(left_out),
        whole=limit is None or len(items) < limit,
        published=preset.rows.get(chosen, {}),
        split=part if file is None else None,
        printed=preset.printed if is_papers else None,
    )


def _refuse(name: str, preset: Preset, file: str | Path | None, given: Mapping[str, str | None]) -> None:
    said = [option for option, value in given.items() if value is not None]
    if file is not None and said:
        raise BadInput(f"{', '.join(said)}: of the hub; {file} is read as it is, leave that out")
    if given["config"] is not None and given["config"] not in preset.rows:
        known = ", ".join(filter(None, preset.rows)) or "none to choose"
        raise BadInput(f"the preset {name!r} has no configuration {given['config']!r}; there are: {known}")


def _converted(
    rows: Iterable[Row], preset: Preset, name: str, seed: int, left_out: Counter[str]
) -> Iterator[Row]:
    """Rows as fields of items; those that are left out are counted."""
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        try:
            fields = preset.convert(row, seed)
        except DataError as error:
            raise row.error(error.field, f"not a row of {name}: {error.reason}") from None
        if isinstance(fields, str):
            left_out[fields] += 1
            continue
        if preset.distinct:
            options = [fold_text(str(option)) for option in fields["options"]]
            content = json.dumps([fields["text"], options])
            if content in seen or len(set(options)) < len(options):
                left_out["repeated" if content in seen else "with an option twice"] += 1
                continue
            seen.add(content)
        else:
            fields["id"] = f"{name}-{number}"
        yield Row(row.file, row.line, fields)
