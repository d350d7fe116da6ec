"""A study's search, opened: items split, programs loaded, the archive at hand; nothing here costs."""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from agents.programs import NAMES, Example, PromptFormat, Role, load_program, read_workflow_settings
from agents.search.context import FEWEST, SearchContext
from agents.search.fitness import ExpertLabels, load_archive
from harness import BadInput, ConfigError, derive_seed
from harness.analysis import study_clusters, study_labels
from harness.columns import AnyLabels, align_models
from harness.config import SearchSection, Study
from harness.store import Store
from harness.types import Item, Program

_LOOP = 2
"""What a slot sees of the archive, and how it races, as a number: a search goes on as it began."""
_NO_PART = {"shared_limits", "max_reply_bytes"}
"""Settings of a model that change no answer."""
_FILLED, _MOST = 0.75, 16
"""Share of the endpoint's concurrency that first rungs of slots shall fill, and most slots under way."""
SPLITS = ("feedback", "select", "confirm", "test")


def prepare_search(study: Study, store: Store, seed: int, section: SearchSection) -> SearchContext:
    """Set up a search of a study, or find it: the same settings are the same search.

    Caps on tokens and dollars are no part of a search's identity: one that ran out goes on with others.

    Raises
    ------
    BadInput
        If there are too few labelled items for the splits.
    ConfigError
        If a setting, a model or a workflow does not exist.
    """
    programs = load_programs(section)
    if section.in_flight is None:
        section = section.model_copy(update={"in_flight": _fit_in_flight(study, section)})
    items = store.content.read_items()
    shape, roles = read_workflow_settings(study.folder, items)
    spec: dict[str, Any] = {
        "section": section.model_dump(exclude={"usd", "tokens"}),
        "seed": seed,
        "loop": _LOOP,
        "model": study.model(model_name(study, section.model)).model_dump(exclude=_NO_PART),
        "programs": [p.id for p in programs],
        "roles": [asdict(role) for role in roles],
        "shape": asdict(shape),
        **({"cluster": study.items.cluster} if study.items.cluster else {}),
    }
    search = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:12]
    searches = store.searches
    if search not in {s["id"] for s in searches.read_searches()}:
        labels = study_labels(study, store, store.columns.read_index())
        splits = draw_splits(items, labels, section.split, seed, section.rungs)
        feedback = ExpertLabels.of(splits["feedback"], labels)
        shown = find_solved(splits["feedback"], feedback, section.examples, shape.max_words)
        known = {**spec, "shown": [asdict(example) for example in shape.examples or shown]}
        searches.add_search(
            search, known, {name: [item.id for item in part] for name, part in splits.items()}
        )
    return replace(open_search(study, store, search), section=section, programs=programs)


def _fit_in_flight(study: Study, section: SearchSection) -> int:
    """So many slots that their first rungs fill most of what the endpoint takes."""
    settings = study.model(model_name(study, section.model))
    return min(_MOST, max(FEWEST, math.ceil(_FILLED * settings.concurrency / section.rungs[0])))


def open_search(study: Study, store: Store, search: str | None) -> SearchContext:
    """Open a search that is there, the one named or the latest, to be looked at.

    Raises
    ------
    BadInput
        If there is none, or not this one, or its splits were drawn without regard to the study's clusters.
    """
    known = {s["id"]: s for s in store.searches.read_searches()}
    if not known:
        raise BadInput("this study has no search yet; begin with: oversight search start")
    name = search or list(known)[-1]
    if name not in known:
        raise BadInput(f"there is no search {name!r}; there are: {', '.join(known)}")
    spec = known[name]["spec"]
    caps = {"usd": study.search.usd, "tokens": study.search.tokens}
    if spec.get("cluster") != study.items.cluster:
        raise BadInput(
            f"items.cluster: search {name} was drawn with clusters by {spec.get('cluster')!r}, not by "
            f"{study.items.cluster!r}; begin another one with: oversight search start"
        )
    archive, clusters = load_archive(store, name), study_clusters(study)
    labels = store.columns.read_labels(store.columns.read_index())
    started = tuple(c.program for c in archive.candidates.values() if c.slot < 0)
    section = SearchSection.model_validate({**spec["section"], **caps})
    shape, roles = read_format(spec)
    return SearchContext(
        id=name,
        created=known[name]["created"],
        section=section,
        seed=spec["seed"],
        programs=started or load_programs(section),
        roles=roles,
        shape=shape,
        archive=archive,
        labels={split: ExpertLabels.of(part, labels, clusters) for split, part in archive.splits.items()},
    )


def read_format(spec: Mapping[str, Any]) -> tuple[PromptFormat, tuple[Role, ...]]:
    """How the calls of a search are worded, examples included, and its roles."""
    examples = tuple(Example(**shown) for shown in spec["shown"])
    return PromptFormat(**{**spec["shape"], "examples": examples}), tuple(Role(**r) for r in spec["roles"])


def resume_search(study: Study, store: Store, search: str | None) -> SearchContext:
    """Open a search to go on with it.

    Raises
    ------
    ConfigError
        If models, workflows, roles or wording are not what they were.
    """
    found = open_search(study, store, search)
    (spec,) = (s["spec"] for s in store.searches.read_searches() if s["id"] == found.id)
    if spec.get("loop", 1) != _LOOP:
        raise ConfigError(
            f"search {found.id} was begun by another version, whose proposals raced otherwise; it can be "
            "shown and exported; begin another one with: oversight search start"
        )
    prepared = prepare_search(study, store, found.seed, found.section)
    if prepared.id != found.id:
        raise ConfigError(
            f"search {found.id} ran with other settings of its model, other workflows or another "
            "workflow.toml than there are now; begin another one with: oversight search start"
        )
    return prepared


def load_programs(section: SearchSection) -> tuple[Program, ...]:
    """Load the start and the rest of the library; equal programs count once."""
    names = dict.fromkeys((section.start, *(section.library or NAMES)))
    return tuple({p.id: p for p in map(load_program, names)}.values())


def model_name(study: Study, name: str) -> str:
    """Name of the model that answers: as given, else the first of study.toml."""
    if not study.models:
        raise ConfigError("study.toml names no model; add a [models.NAME] section")
    return name or next(iter(study.models))


def draw_splits(
    items: Sequence[Item],
    labels: AnyLabels,
    shares: Mapping[Any, float],
    seed: int,
    rungs: Sequence[int],
) -> dict[str, tuple[Item, ...]]:
    """Draw which labelled items a search learns from, selects on, confirms on and is tested on.

    Items of one cluster are in one split, and so are copies of an item: what was learned of a patient, or
    read in an example, would pass for more otherwise.

    Raises
    ------
    ConfigError
        If the shares are not positive numbers that sum to 1 at most.
    BadInput
        If fewer items than the first rung has would be left to select on.
    """
    least, most = rungs[0], rungs[-1]
    if any(share < 0 for share in shares.values()) or sum(shares.values()) > 1 + 1e-9:
        raise ConfigError(f"search: split must be shares of at most 1 together, is {dict(shares)}")
    said = align_models([], labels)[1]
    places = said.index.find(item.id for item in items)
    answered = np.append(said.answered, False)[places]  # that of unknown items, at place -1
    pool = sorted(
        (i for i, known in zip(items, answered, strict=True) if known),
        key=lambda i: derive_seed(seed, "split", i.id),
    )
    clusters = said.cluster.by_id(said.index) if said.cluster else {}
    waiting = deque(_group(pool, clusters))
    splits: dict[str, tuple[Item, ...]] = {}
    for name in SPLITS:
        count = min(round(shares.get(name, 0.0) * len(pool)), most if name == "select" else len(pool))
        part: list[Item] = []
        while waiting and len(part) + len(waiting[0]) <= count:
            part += waiting.popleft()
        splits[name] = tuple(sorted(part, key=lambda i: derive_seed(seed, "split", i.id)))
    if len(splits["select"]) < least:
        raise BadInput(
            f"search: {len(pool)} items have an expert's answer, which leaves {len(splits['select'])} to "
            f"select on; the first rung needs {least}: collect more answers, or lower rungs"
        )
    return splits


def _group(pool: Sequence[Item], clusters: Mapping[str, str]) -> list[list[Item]]:
    """Items that stay together, as they share a cluster or are copies, in the order of the first of each."""
    found: dict[str, list[Item]] = {}
    joined: dict[tuple[str, str], str] = {}
    for item in pool:
        shown = " ".join((item.text, *sorted(item.options))).casefold().split()
        marks = [("text", " ".join(shown))]
        if item.id in clusters:
            marks.append(("cluster", clusters[item.id]))
        homes = list(dict.fromkeys(joined[mark] for mark in marks if mark in joined)) or [item.id]
        home = found.setdefault(homes[0], [])
        for other in homes[1:]:
            home += found.pop(other)
            joined.update({mark: homes[0] for mark, name in joined.items() if name == other})
        home.append(item)
        joined.update(dict.fromkeys(marks, homes[0]))
    return list(found.values())


def find_solved(
    items: Sequence[Item], labelled: ExpertLabels, most: int, max_words: int | None
) -> tuple[Example, ...]:
    """Examples from items that an expert said yes to: one of each answer first, then a second…."""
    by_answer: dict[str, list[Example]] = {}
    for item, option in zip(items, labelled.truth, strict=True):
        if option >= 0:
            text = " ".join(item.text.split()[:max_words])
            by_answer.setdefault(item.options[option], []).append(Example(text, item.options[option]))
    rounds = zip_longest(*by_answer.values())
    return tuple([example for found in rounds for example in found if example][:most])
