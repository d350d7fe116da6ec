"""Read the inputs that study.toml names: items, the sealed key, prompts."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, starmap

from oversight.harness.columns import TEXT_CLUSTER, ItemValues, digest_text
from oversight.harness.config import Study
from oversight.harness.datasets import (
    PRESETS,
    BadRows,
    ItemFields,
    ItemMapping,
    Portion,
    PresetReading,
    iterate_fields,
    load_preset,
    read_ahead,
    read_hub_portions,
    read_key,
    read_portions,
    read_rows,
)
from oversight.harness.errors import ConfigError, DataError, OversightError
from oversight.harness.output import read_text, say
from oversight.harness.store import Store, has_database, read_item_meta, write_meta
from oversight.harness.types import UNIT_PREFIX, Item

MANY = 10_000
"""Smallest number of items whose ids are looked up in the database instead of read from the source."""


def study_clusters(study: Study) -> dict[str, str]:
    """Return item id → cluster, from the column that study.toml names; empty if it names none.

    Clusters are read from the items' source, not from the database, so the column can be named after items
    were stored. With ``"@text"``, the digest of an item's text and options is its cluster.

    Raises
    ------
    ConfigError
        If the cluster is ``"@text"`` and the items have a column of that name.
    DataError
        If an item has no cluster; the message names source and field.
    """
    column = study.items.cluster
    if column is None:
        return {}
    if column == TEXT_CLUSTER:
        return _cluster_by_text(study)
    section = study.items.model_copy(update={"meta": [*study.items.meta, column]})
    items = study_items(study.model_copy(update={"items": section}))
    for item in items:
        if not item.meta.get(column, "").strip():
            where = study.items.file or study.items.preset or study.items.hub
            raise DataError(f"the item {item.id!r} has no cluster", file=where, field=column)
    return {item.id: item.meta[column] for item in items}


def _cluster_by_text(study: Study) -> dict[str, str]:
    rows = () if study.items.preset else chain.from_iterable(_source_portions(study)[0])
    first = next(iter(rows), None)
    if first is not None and TEXT_CLUSTER in first.fields:
        raise ConfigError(
            f"items.cluster: {TEXT_CLUSTER!r} means the digest of the text, but the items have a column "
            "of that name; rename the column"
        )
    fields = chain.from_iterable(stream_fields(study))
    return {name: f"{digest_text(text, options):016x}" for name, text, options, *_ in fields}


def advise_on_texts(study: Study) -> str:
    """Return advice on settings for a study in which several items share a text.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> advise_on_texts(read_study("study.toml"))
    'cluster = "@text" under [items] makes the items of a text one unit'
    """
    column = study.items.cluster
    if column is None:
        return f'cluster = "{TEXT_CLUSTER}" under [items] makes the items of a text one unit'
    if column == TEXT_CLUSTER:
        return "items.cluster makes the items of a text one unit"
    return f"the column {column!r} (items.cluster) must name one cluster for the items of a text"


def study_items(study: Study) -> list[Item]:
    """Read the items that study.toml describes.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> items = study_items(read_study("study.toml"))
    >>> len(items), items[0].options
    (54, ('cardiology', 'neurology', 'nephrology', 'dermatology'))
    """
    return list(stream_items(study))


def stream_items(study: Study) -> Iterator[Item]:
    """Yield the items one by one; an error in a later item is raised only when that item is reached.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> next(stream_items(read_study("study.toml"))).id
    'case-001'
    """
    return (Item(*fields) for portion in stream_fields(study) for fields in portion)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsAhead:
    """All items of a study, read before they are stored.

    Attributes
    ----------
    digest
        Hash of the source, computed before reading; None if the source is not a file.
    portions
        Iterator over batches of items, which can be used once. Until then, a temporary file has the items.
    """

    digest: str | None
    portions: Iterator[list[Item]]


def read_items_ahead(study: Study) -> ItemsAhead:
    """Read all items before the database is opened, so that a bad item cannot leave it half filled.

    The number of left-out rows is printed.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> ahead = read_items_ahead(read_study("study.toml"))
    >>> len(next(ahead.portions))
    54
    """
    digest, bad = digest_source(study), BadRows()
    fields = read_ahead(stream_fields(study, bad))
    if bad.number:
        say("\n".join([*bad.lines(), f"{bad.number:,} wrong rows are left out (skip_bad)"]))
    return ItemsAhead(digest=digest, portions=(list(starmap(Item, portion)) for portion in fields))


def stream_fields(study: Study, bad: BadRows | None = None) -> Iterator[list[ItemFields]]:
    """Yield items in batches, each item as a tuple of fields. Left-out bad rows are added to `bad`."""
    section = study.items
    if section.preset:
        items = load_study_preset(study).items
        yield [(i.id, i.text, i.options, i.permutation, dict(i.meta)) for i in items]
        return
    mapping = ItemMapping(
        text=section.text,
        id=section.id,
        classes=tuple(section.classes),
        options=section.options if isinstance(section.options, str) else tuple(section.options),
        meta=tuple(section.meta),
        cluster=None if section.cluster == TEXT_CLUSTER else section.cluster,
        shuffle=section.shuffle,
        seed=study.study.seed,
        skip_bad=section.skip_bad,
        is_open=study.is_open,
    )
    portions, source = _source_portions(study)
    found = iterate_fields(portions, mapping, source, bad)
    # rows beyond the limit are read as well, because a bad row is an error there too
    left = section.limit
    for portion in found:
        yield portion[:left]
        left = None if left is None else max(0, left - len(portion))


def _source_portions(study: Study) -> tuple[Iterable[Portion], str]:
    """Return the rows of a file or of a hub data set, and the name of the source."""
    section = study.items
    if section.file:
        path = study.path(section.file)
        return read_portions(path), str(path)
    hub = section.hub or ""
    rows = read_hub_portions(hub, config=section.hub_config, split=section.split, revision=section.revision)
    return rows, hub


def read_new_items(study: Study) -> ItemsAhead | None:
    """Read the items if the study has no database yet, so that no database is created for bad items."""
    return None if has_database(study.store_url) else read_items_ahead(study)


def store_items(study: Study, store: Store, ahead: ItemsAhead | None = None) -> list[str]:
    """Store the items of study.toml; return their ids. A large unchanged file is read only once.

    Parameters
    ----------
    ahead
        The items, if they were read already.

    Raises
    ------
    DataError
        If items cannot be read or stored.
    """
    ids = read_stored_items(study, store, ahead)
    if ids is None:
        ahead = ahead or read_items_ahead(study)
        ids = store.content.add_items(chain.from_iterable(ahead.portions))
        note_source(study, store, ahead.digest, ids)
    return ids


def read_stored_items(study: Study, store: Store, ahead: ItemsAhead | None = None) -> list[str] | None:
    """Return the ids of the study's items if the database is known to contain all items of the source.

    None means that the caller must read the source.
    """
    digest = ahead.digest if ahead else digest_source(study)
    return store.content.read_source(digest) if digest else None


def digest_source(study: Study) -> str | None:
    """Hash everything that determines a study's items.

    Return None if the items do not come from a file, or if the study is about open answers.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> len(digest_source(read_study("study.toml")))
    64
    """
    path = study.path(study.items.file) if study.items.file else None
    # studies of open answers also store units (parts of answers) as items
    if path is None or not path.is_file() or study.is_open:
        return None
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    # newer settings are hashed only if set, so that digests stored by older versions remain valid
    late = {"skip_bad", "revision", "answers"} - study.items.model_fields_set
    digest.update(f"{study.items.model_dump_json(exclude=late)}\x1f{study.study.seed}".encode())
    return digest.hexdigest()


def note_source(
    study: Study, store: Store, digest: str | None, ids: list[str], *, are_all: bool = False
) -> None:
    """Record that all items of the source are stored, so that a large source need not be read again.

    Nothing is recorded for fewer than `MANY` items, or if the source changed during reading. `digest` is the
    source's digest, computed before the items were read. `are_all` says that the database contains no other
    items, so that `ids` need not be compared with the stored ids.
    """
    if digest and len(ids) >= MANY and digest == digest_source(study):
        store.content.note_source(digest, ids, are_all=are_all)


_LARGEST = 20 * 2**20
"""Maximum size in bytes of an items file that every command compares with the stored items."""


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """Differences between a study's stored items and its items file.

    Attributes
    ----------
    missing
        Ids of stored items that the file no longer has.
    other_meta
        (item id, metadata column, value in the file, stored value) for each value that differs.
    """

    missing: Sequence[str] = ()
    other_meta: Sequence[tuple[str, str, str, str]] = ()


def find_source_changes(study: Study) -> SourceChanges:
    """Find items that are missing in the study's items file, and items whose metadata changed there.

    Nothing is reported if the file is very large. Texts and options are not compared here, because they
    are compared whenever items are stored.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> find_source_changes(read_study("study.toml"))
    SourceChanges(missing=[], other_meta=[])
    """
    section = study.items
    file = study.path(section.file) if section.file and not section.preset else None
    if file is None or not has_database(study.store_url):
        return SourceChanges()
    try:
        if file.stat().st_size > _LARGEST:
            return SourceChanges()
        whole = section.model_copy(update={"limit": None})
        items = stream_items(study.model_copy(update={"items": whole}))
        there = {item.id: write_meta(item.meta) for item in items}
        stored = _read_stored_meta(study)
    except (OSError, OversightError, sqlite3.Error):
        return SourceChanges()  # functions that need the file or the database will report the error
    missing = (name for name in stored if name not in there)
    changed = [(name, meta, there[name]) for name, meta in stored.items() if there.get(name, meta) != meta]
    return SourceChanges(
        [name for name in missing if not (study.is_open and name.startswith(UNIT_PREFIX))],
        list(chain.from_iterable(starmap(_compare_meta, changed))),
    )


def _compare_meta(name: str, stored: str, given: str) -> Iterator[tuple[str, str, str, str]]:
    before = json.loads(stored)
    for column, value in json.loads(given).items():
        if before.get(column, value) != value:
            yield name, column, value, before[column]


def _read_stored_meta(study: Study) -> dict[str, str]:
    """Return the stored items' metadata as JSON, by the id that the source gives each item today."""
    if not study.has_server:
        return read_item_meta(study.store_url.removeprefix("sqlite:///"))
    with Store(study.store_url) as store:
        today = {stored: name for name, stored in store.content.read_former_ids().items()}
        return {today.get(i.id, i.id): write_meta(i.meta) for i in store.content.read_items()}


def read_meta(study: Study, store: Store, column: str) -> ItemValues:
    """Return every item's value in a metadata column.

    If the column was added to study.toml after the items were stored, this function first reads the column
    from the items' source, and raises the same errors as `store_items`.
    """
    found = store.columns.read_meta(column)
    if (found.code < 0).any() and column in study.items.meta and not store.read_only:
        store_items(study, store)
        found = store.columns.read_meta(column)
    return found


def study_truth(study: Study, key_file: str | None, items: list[Item]) -> dict[str, int]:
    """Return item id → position of the true option, read from a sealed key file or the preset's answers.

    The file's id column is named ``id``, or like the id column of the items file.

    Raises
    ------
    ConfigError
        If there is neither a file nor a preset.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> study = read_study("study.toml")
    >>> study_truth(study, "key.csv", study_items(study))["case-001"]
    2
    """
    if key_file:
        first = next(iter(read_rows(key_file)), None)
        known = first is not None and study.items.id in first.fields and "id" not in first.fields
        return read_key(key_file, items, id_column=study.items.id if known else "id")
    if not study.items.preset:
        raise ConfigError("the true labels are needed: give their file with --key FILE (columns id,label)")
    truth = load_study_preset(study).truth
    missing = [item.id for item in items if item.id not in truth]
    if missing:
        raise DataError(
            f"the preset has no true label for the stored item {missing[0]!r}", file=study.items.file
        )
    return truth


def load_study_preset(study: Study) -> PresetReading:
    """Read the public benchmark that study.toml names.

    Raises
    ------
    ConfigError
        If [items] contains a setting that the benchmark determines.
    BadInput
        If the benchmark cannot be read.
    """
    section = study.items
    settled = [name for name in _SETTLED if name in section.model_fields_set]
    if section.preset in PRESETS and settled:
        told = f"the preset {section.preset!r} defines this already; leave it out of [items]"
        raise ConfigError(f"{', '.join(settled)}: {told}")
    return load_preset(
        section.preset or "",
        study.path(section.file) if section.file else None,
        seed=study.study.seed,
        limit=section.limit,
        config=section.hub_config,
        split=section.split if "split" in section.model_fields_set else None,
        revision=section.revision,
    )


_SETTLED = ("id", "text", "classes", "options", "shuffle", "skip_bad")


def template_of(study: Study) -> str:
    """Read and check the template file of study.toml, or return the built-in one.

    Raises
    ------
    DataError
        If the file cannot be read.
    ConfigError
        If the template has an unknown field.
    """
    # imported here, because the import also loads the parser of answers
    from oversight.harness.llm import DEFAULT_TEMPLATE, check_template

    if study.prompt.template is None:
        return "$text" if study.is_open else DEFAULT_TEMPLATE
    return check_template(_read_prompt(study, study.prompt.template, "prompt template"))


def system_of(study: Study) -> str:
    """Read the file with the system prompt; empty if study.toml names none. Raises DataError."""
    return "" if study.prompt.system is None else _read_prompt(study, study.prompt.system, "system prompt")


def _read_prompt(study: Study, name: str, what: str) -> str:
    path = study.path(name)
    try:
        # Editors add a line break at the end of the file, which the prompt should not contain.
        return read_text(path).removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the {what} cannot be read: {error}", file=path) from None
