"""Check the settings of a search before anything is stored or any model is called.

With ``[search] parity``, the settings reproduce "Towards Scalable Oversight via Partitioned Human
Supervision", §3.4 and App. G and H. Every validation item has one complementary label, and every candidate
answers all validation items, three times with AFlow and once with ADAS. The candidate with the largest score
wins, and all candidates are tested. There is no race, no confirmation, and only one proposal at a time.
Settings that the study leaves unset get these values, with a note; a setting with another value is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oversight.harness import ConfigError
from oversight.harness.analysis import study_prices
from oversight.harness.config import SearchSection, Study
from oversight.harness.llm import Price, Target, make_spec

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
