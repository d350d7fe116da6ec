"""Set up or open a search without model calls: check settings, split items, load programs and the archive.

With ``[search] parity``, the settings reproduce "Towards Scalable Oversight via
Partitioned Human Supervision", §3.4 and App. G and H. Every validation item has one
complementary label, and every candidate answers all validation items, three times with
AFlow and once with ADAS. The candidate with the largest score wins, and all candidates
are tested. There is no race, no confirmation, and only one proposal at a time. Settings
that the study leaves unset get these values, with a note; a setting with another value is
refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from pydantic import ValidationError

from oversight.agents.programs import NAMES, Example, PromptFormat, Role, load_program, read_workflow_settings
from oversight.agents.sandbox import open_sandbox
from oversight.agents.search.context import FEWEST, SearchContext
from oversight.agents.search.fitness.archive import Archive, load_archive
from oversight.agents.search.fitness.expert_labels import (
    ClassCounts,
    ExpertLabels,
    count_answers,
    find_rates,
    keep_complementary,
)
from oversight.agents.search.item_splits import (
    UNTESTED,
    collect_labels,
    describe_old_splits,
    describe_rates,
    draw_splits,
    find_pool,
    find_solved,
    order_by_worth,
    refuse_silent,
    refuse_unscorable,
)
from oversight.harness import BadInput, ConfigError
from oversight.harness.analysis import OpenStudy, refuse_panel, study_clusters, study_prices
from oversight.harness.columns import AnyLabels, LabelColumns
from oversight.harness.config import SearchSection, Study
from oversight.harness.llm import Price, Target, make_spec
from oversight.harness.output import say
from oversight.harness.store import ERASED, Store
from oversight.harness.types import Item, Program

REPLICATES = {"aflow": 3, "adas": 1}
"""Number of validation runs of every candidate, for each published policy."""
_FIXED: Mapping[str, Any] = {
    "labels": "drawn",
    "keep": [],
    "finalists": 1,
    "in_flight": 1,
    "patience": 0,
    "examples": 0,
}
_SPLIT = {"feedback": 0.15, "select": 0.35, "test": 0.5}
LEAST = 30
"""Minimum number of validation items."""


def as_published(section: SearchSection) -> tuple[SearchSection, list[str]]:
    """Return the settings with the values that ``parity`` requires, and notes about changed values.

    Without parity, the settings are returned unchanged.

    Raises
    ------
    ConfigError
        If the study sets values that ``parity`` does not allow; the message names all settings concerned.
    """
    if section.parity is None:
        return section, []
    wanted: dict[str, Any] = {**_FIXED, "fitness": section.parity, "rungs": section.rungs[-1:]}
    if section.policy in REPLICATES:
        wanted["replicates"] = REPLICATES[section.policy]
    if "labels" in section.model_fields_set and section.labels == "no":
        # labels = "no" is allowed in place of "drawn", because both settings use only complementary labels.
        wanted["labels"] = "no"
    wanted["split"] = _SPLIT if "split" not in section.model_fields_set else section.split
    given = {name: getattr(section, name) for name in wanted}
    wrong = [n for n in wanted if n in section.model_fields_set and given[n] != wanted[n]]
    told = [f"{name} = {given[name]!r} (published: {wanted[name]!r})" for name in wrong]
    if section.split.get("confirm") and "split" in section.model_fields_set:
        told.append(f"split.confirm = {section.split['confirm']!r} (published: no confirmation)")
    if told:
        raise ConfigError(
            f"search: parity = {section.parity!r} repeats a published search, but study.toml sets "
            f"{'; '.join(told)}: leave out these settings, or leave out parity"
        )
    changed = [f"{name} = {wanted[name]!r}" for name in wanted if given[name] != wanted[name]]
    words = [f"as published: {', '.join(changed)}; all members are tested"] if changed else []
    if section.policy not in REPLICATES:
        words.append(f"the policy {section.policy!r} is not one of the published policies, ADAS and AFlow")
    return section.model_copy(update=wanted), words


def check_settings(section: SearchSection) -> None:
    """Raise an error for impossible settings of the item split and the race.

    Raises
    ------
    ConfigError
        If a setting is impossible; the message names the setting, its limit and its value.
    """
    s = section
    if not s.rungs or s.rungs != sorted(set(s.rungs)) or s.rungs[0] < 2:
        raise ConfigError(
            f"search: `rungs` must be increasing numbers of items, each at least 2, are {tuple(s.rungs)}"
        )
    # Conditions are written such that NaN, for which every comparison is false, is refused.
    if not all(0 < share <= 1 for share in s.keep) or s.keep != sorted(s.keep, reverse=True):
        raise ConfigError(
            f"search: `keep` must be a list of shares in (0, 1], none larger than the one before, is {s.keep}"
        )
    if len(s.keep) < len(s.rungs) - 1:
        raise ConfigError(f"search: `keep` must have a share for every rung except the last, is {s.keep}")
    if not (all(share >= 0 for share in s.split.values()) and sum(s.split.values()) <= 1 + 1e-9):
        raise ConfigError(f"search: `split` must be shares that sum to at most 1, is {dict(s.split)}")


def refuse_partial_split(section: SearchSection) -> None:
    """Raise an error if `split` leaves out a set, because the set would silently have no items.

    With ``parity``, `split` may leave out the set confirm.

    Raises
    ------
    ConfigError
        If a set is left out; the message names all of these sets.
    """
    names = list(SearchSection.model_fields["split"].default)
    missing = [n for n in names if n not in section.split and not (section.parity and n == "confirm")]
    if missing:
        raise ConfigError(
            f"search: `split` has no share for {', '.join(missing)}; set all of {', '.join(names)} "
            "(0 for a set without items)"
        )


def optimiser_name(study: Study, section: SearchSection) -> str:
    """Return the name of the model that writes programs; empty for the policy ``"recombine"``.

    Raises
    ------
    ConfigError
        If no model is named, or study.toml has no such model.
    """
    if section.policy == "recombine":
        return ""
    if not section.optimiser:
        raise ConfigError(
            f"search: the policy {section.policy!r} needs a model that writes programs: set `optimiser` to "
            f"the name of a model under [models]; there are: {', '.join(study.models)}"
        )
    study.model(section.optimiser)
    return section.optimiser


def price_of(study: Study, name: str) -> Price | None:
    """Return the price of a model of study.toml; None if it is unknown."""
    settings = study.model(name)
    return Target(make_spec(name, settings, "$text", None), settings).priced(study_prices(study)).price


def refuse_unpriced(study: Study, usd: float | None, *models: str) -> None:
    """Raise an error if a search has a cap in dollars and the price of one of its models is unknown.

    Raises
    ------
    ConfigError
        If a price is unknown; the message names the model.
    """
    for name in models:
        if usd is not None and price_of(study, name) is None:
            raise ConfigError(
                f"search: usd = {usd} needs the price of the model {name!r}, which is unknown: add the model "
                f"{study.model(name).model!r} to prices.toml, or set `tokens` instead"
            )


_LOOP = 4
"""Version of the rules for slots and races; a search is continued only with the version that began it."""
_LINEAGE = 3
"""First version that scores children with their parents; older searches are shown with their own rules."""
_NO_PART = {"answer", "shared_limits", "limit_as"}
"""Settings of a model that do not change a search's calls and are not part of its id."""
_PACE = {"concurrency", "tries", "timeout", "requests_per_minute", "tokens_per_minute"}
"""Settings of a model that may change during a search, because they do not change answers. They are part of
a search's id nevertheless."""
_FILLED, _MOST = 0.75, 16
"""Share of the endpoint's concurrency that the first rungs of all slots use, and maximum number of slots."""
_CAPS = {"usd", "tokens"}
WITHOUT_EXAMPLE = (
    "the prompts showed an example whose item was erased; the winner is exported without it, so its accuracy "
    "may differ from that of the search"
)
"""Note on a search from whose prompts an example was erased."""
_LATER = {
    name: SearchSection.model_fields[name].default
    for name in ("labels", "optimiser_temperature", "optimiser_tokens")
}
"""Settings that older searches lack, with defaults; a default value is not part of a search's id."""


def prepare_search(
    study: Study, store: Store, seed: int, section: SearchSection, begun: str | None = None
) -> SearchContext:
    """Set up a search of a study, or find the existing one with the same settings.

    Caps on tokens and dollars are not part of a search's id, so a search can be continued
    with other caps. `begun` is the id of the search to continue, if the caller wants only
    this one.

    Raises
    ------
    BadInput
        If there are too few labelled items for the splits.
    ConfigError
        If a setting, a model or a workflow does not exist, or differs from the search `begun`.
    NotIdentified
        If items were drawn with unequal probabilities, which no fitness estimator
        supports; if labels cannot score some answers of programs; or if an expert has not
        answered anything yet.
    """
    refuse_panel(study, "search")
    section, remarks = as_published(section)
    check_settings(section)
    if begun is None:
        refuse_partial_split(section)
        section = _adopt_optimiser(study, section)
    refuse_unpriced(
        study, section.usd, model_name(study, section.model), *filter(None, [optimiser_name(study, section)])
    )
    # Check that the sandbox tier in the settings exists; the sandbox is not started here.
    open_sandbox(section.tier)
    programs = load_programs(study, section)
    if section.in_flight is None:
        section = section.model_copy(update={"in_flight": _fit_in_flight(study, section)})
    items = store.content.read_items()
    shape, roles = read_workflow_settings(study.folder, items)
    spec: dict[str, Any] = {
        "section": _identity(section),
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
    if begun is not None:
        _refuse_changed(begun, spec, next(s["spec"] for s in searches.read_searches() if s["id"] == begun))
        search = begun
    if search not in {s["id"] for s in searches.read_searches()}:
        labels, partial = collect_labels(OpenStudy(study, store).labels)
        answered = count_answers(items, labels, with_open=not partial)
        splits, feedback = _split(items, labels, answered, section, seed)
        shown = find_solved(splits["feedback"], feedback, section.examples, shape.max_words)
        examples = [asdict(example) for example in shape.examples or shown]
        known = {**spec, "shown": examples, "partial": partial, "answered": answered}
        known |= {"sessions": "item", "placed": "circle"}
        searches.add_search(
            search, known, {name: [item.id for item in part] for name, part in splits.items()}
        )
    if section.labels != "all":
        remarks += _describe_labels(items, OpenStudy(study, store).labels, section)
    found = open_search(study, store, search)
    (spec,) = (s["spec"] for s in searches.read_searches() if s["id"] == search)
    _refuse_older(search, spec)
    return replace(found, section=section, programs=programs, remarks=tuple(remarks))


def _adopt_optimiser(study: Study, section: SearchSection) -> SearchSection:
    """Return the settings with the optimiser's temperature and token limit from its entry in study.toml.

    If the optimiser is also the model that answers items, the settings are returned unchanged.
    """
    name = optimiser_name(study, section)
    if not name or name == model_name(study, section.model):
        return section
    own = study.model(name)
    given = {"optimiser_temperature": own.temperature, "optimiser_tokens": own.max_tokens}
    return section.model_copy(update={key: value for key, value in given.items() if value is not None})


def _split(
    items: Sequence[Item],
    labels: LabelColumns,
    answered: ClassCounts,
    section: SearchSection,
    seed: int,
) -> tuple[dict[str, tuple[Item, ...]], ExpertLabels]:
    """Draw the splits of a new search. Returns them, and the labels of the feedback items."""
    refuse_silent(answered, section.labels)
    pool = find_pool(items, labels, section.labels, seed)
    rungs = section.rungs if section.parity is None else [min(LEAST, *section.rungs), section.rungs[-1]]
    splits = draw_splits(pool, labels, section.split, seed, rungs)
    feedback, select = (
        keep_complementary(ExpertLabels.of_items(splits[part], labels), section.labels, seed)
        for part in ("feedback", "select")
    )
    for part in ("select", "confirm", "test"):
        refuse_unscorable(ExpertLabels.of_items(splits[part], labels))
    splits["select"] = order_by_worth(splits["select"], select)
    return splits, feedback


def _refuse_changed(begun: str, spec: Mapping[str, Any], was: Mapping[str, Any]) -> None:
    """Refuse to resume a search if anything in its specification changed except the settings in `_PACE`."""
    now = json.loads(json.dumps(spec))
    for of in (now, was := {**was, "model": dict(was["model"])}):
        for name in _PACE:
            of["model"].pop(name, None)
    if any(was.get(name) != value for name, value in now.items()):
        raise ConfigError(
            f"search {begun} used other model settings, other workflows or another workflow.toml; start a "
            "new search with: oversight search start"
        )


def _identity(section: SearchSection) -> dict[str, Any]:
    found = section.model_dump(exclude=_CAPS)
    return {name: value for name, value in found.items() if name not in _LATER or value != _LATER[name]}


def _fit_in_flight(study: Study, section: SearchSection) -> int:
    """Return how many slots run at once, so that their first rungs use most of the endpoint's concurrency."""
    settings = study.model(model_name(study, section.model))
    return min(_MOST, max(FEWEST, math.ceil(_FILLED * settings.concurrency / section.rungs[0])))


def open_search(study: Study, store: Store, search: str | None) -> SearchContext:
    """Open the search with this id for reading; None opens the latest search.

    Raises
    ------
    BadInput
        If the search does not exist, or its items were split with another setting of clusters.
    """
    known = {s["id"]: s for s in store.searches.read_searches()}
    if not known:
        raise BadInput("this study has no search yet; start one with: oversight search start")
    name = search or list(known)[-1]
    if name not in known:
        raise BadInput(f"there is no search {name!r}; there are: {', '.join(known)}")
    spec = known[name]["spec"]
    caps = {"usd": study.search.usd, "tokens": study.search.tokens}
    if spec.get("cluster") != study.items.cluster:
        raise BadInput(
            f"items.cluster was {spec.get('cluster')!r} when search {name} began, and is now "
            f"{study.items.cluster!r}; start a new search with: oversight search start"
        )
    archive, clusters = load_archive(store, name), study_clusters(study)
    labels = store.columns.read_labels(store.columns.read_index())
    counts = spec.get("answered") or count_answers(_all_items(archive), labels)
    rates = find_rates(counts)
    started = tuple(c.program for c in archive.candidates.values() if c.slot < 0)
    try:
        section = SearchSection.model_validate({**spec["section"], **caps})
    except ValidationError as error:
        setting = ".".join(map(str, error.errors()[0]["loc"]))
        raise BadInput(
            f"search {name} was started by another version of oversight, with the setting {setting!r}, which "
            "this version does not accept"
        ) from None
    shape, roles = read_format(spec)
    return SearchContext(
        id=name,
        created=known[name]["created"],
        section=section,
        seed=spec["seed"],
        programs=started or load_programs(study, section),
        by_parents=spec.get("loop", 1) >= _LINEAGE,
        roles=roles,
        shape=shape,
        archive=archive,
        doubts=(
            *([WITHOUT_EXAMPLE] if ERASED in spec else []),
            *spec.get("partial", ()),
            *([] if archive.splits.get("test") else [UNTESTED]),
            *([] if "placed" in spec else describe_old_splits(_all_items(archive), clusters)),
            *describe_rates(rates),
            *filter(None, [OpenStudy(study, store).doubt]),
        ),
        labels={
            split: keep_complementary(
                ExpertLabels.of_items(part, labels, clusters, rates),
                "all" if split == "test" else section.labels,
                spec["seed"],
            )
            for split, part in archive.splits.items()
        },
    )


def _all_items(archive: Archive) -> list[Item]:
    return [item for part in archive.splits.values() for item in part]


def read_format(spec: Mapping[str, Any]) -> tuple[PromptFormat, tuple[Role, ...]]:
    """Return a search's prompt format, which includes examples, and the search's roles."""
    examples = tuple(Example(**shown) for shown in spec["shown"])
    return PromptFormat(**{**spec["shape"], "examples": examples}), tuple(Role(**r) for r in spec["roles"])


def resume_search(study: Study, store: Store, search: str | None) -> SearchContext:
    """Open the search with this id to continue it; None opens the latest search.

    Raises
    ------
    ConfigError
        If models, workflows, roles or the prompt format changed since the search began.
    """
    found = open_search(study, store, search)
    (spec,) = (s["spec"] for s in store.searches.read_searches() if s["id"] == found.id)
    _refuse_older(found.id, spec)
    named, now = study.search.model_fields_set - _CAPS - {"in_flight"}, as_published(study.search)[0]
    ignored = sorted(name for name in named if getattr(now, name) != getattr(found.section, name))
    if ignored:
        told = f"search {found.id} keeps the settings with which it began, not those of study.toml"
        say(
            f"{told}: {', '.join(ignored)}; to use study.toml's settings, start a new search: "
            "oversight search start"
        )
    return prepare_search(study, store, found.seed, found.section, begun=found.id)


def _refuse_older(search: str, spec: Mapping[str, Any]) -> None:
    """Refuse to resume a search with an erased example, or one that an incompatible version began."""
    if ERASED in spec:
        raise ConfigError(
            f"search {search}: the item of an example in its prompts was erased, so its answers cannot be "
            "compared with new answers; the search can only be shown and exported; start another search "
            "with another seed: oversight search start --set study.seed=N"
        )
    changed = ""
    if spec.get("loop", 1) != _LOOP:
        changed = "compared proposals in another way"
    elif "sessions" not in spec:
        changed = "let items share a session, so that stored calls might be made and paid for again"
    if changed:
        raise ConfigError(
            f"search {search} was begun by another version of oversight, which {changed}; the search can "
            "only be shown and exported; start another one with: oversight search start"
        )


def load_programs(study: Study, section: SearchSection) -> tuple[Program, ...]:
    """Load the start workflow and then the library; a program that occurs twice is returned once.

    Raises
    ------
    ConfigError
        If a workflow does not exist; the message names the setting and the workflow.
    """
    places = dict.fromkeys(section.library or NAMES, "library") | {section.start: "start"}
    programs: dict[str, Program] = {}
    for name in dict.fromkeys((section.start, *places)):
        try:
            program = load_program(name, study.folder)
        except ConfigError as error:
            raise ConfigError(f"search: {places[name]}: {error}") from None
        programs.setdefault(program.id, program)
    return tuple(programs.values())


def model_name(study: Study, name: str) -> str:
    """Return the name of the model that answers calls: `name` or, if `name` is empty, the first model's."""
    if not study.models:
        raise ConfigError("study.toml names no model; add a [models.NAME] section")
    return name or next(iter(study.models))


def _describe_labels(items: Sequence[Item], labels: AnyLabels, section: SearchSection) -> list[str]:
    yes = int((ExpertLabels.of_items(items, labels).truth >= 0).sum())
    became = (
        "are left out, also from the test"
        if section.labels == "no"
        else "count as a no about another, randomly drawn option; the test uses all answers"
    )
    told = [f"the search uses only complementary labels: {yes} items with a yes {became}"]
    if section.labels == "no" and len({len(item.options) for item in items}) > 1:
        told.append(
            "items with few options get a yes more often and are left out more often, so all accuracies "
            'overrepresent items with many options; labels = "drawn" leaves no item out'
        )
    return told
