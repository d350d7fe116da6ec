"""Settings of a search that make no sense are refused before anything is stored or asked."""

from __future__ import annotations

from oversight.harness import ConfigError
from oversight.harness.config import SearchSection, Study


def check_settings(section: SearchSection) -> None:
    """Refuse settings of the split, the race and the slots that make no sense.

    Raises
    ------
    ConfigError
        Naming the setting, its bound and its value.
    """
    s = section
    if s.parents == "pareto" and s.policy == "adas":
        raise ConfigError("search: the policy 'adas' draws no parents, so parents = 'pareto' says nothing")
    settings = {
        "candidates": (s.candidates, 0),
        "replicates": (s.replicates, 1),
        "finalists": (s.finalists, 1),
    }
    settings |= {} if s.in_flight is None else {"in_flight": (s.in_flight, 1)}
    for name, (value, least) in settings.items():
        if value < least:
            raise ConfigError(f"search: {name} must be at least {least}, is {value}")
    if not s.rungs or s.rungs != sorted(set(s.rungs)) or s.rungs[0] < 2:
        raise ConfigError(f"search: rungs must be rising numbers of items, 2 or more, are {tuple(s.rungs)}")
    # what is no number compares as false
    if not all(0 < share <= 1 for share in s.keep) or s.keep != sorted(s.keep, reverse=True):
        raise ConfigError(f"search: keep must be falling shares in (0, 1], is {tuple(s.keep)}")
    if len(s.keep) < len(s.rungs) - 1:
        raise ConfigError(f"search: keep needs a share after every rung but the last, is {tuple(s.keep)}")
    if not (all(share >= 0 for share in s.split.values()) and sum(s.split.values()) <= 1 + 1e-9):
        raise ConfigError(f"search: split must be shares of at most 1 together, is {dict(s.split)}")


def optimiser_name(study: Study, section: SearchSection) -> str:
    """Name of the model that writes programs; empty for the policy that goes without.

    Raises
    ------
    ConfigError
        If none is named, or study.toml has no such model.
    """
    if section.policy == "recombine":
        return ""
    if not section.optimiser:
        raise ConfigError(
            f"search: the policy {section.policy!r} needs a model that writes programs: optimiser = NAME of "
            f"[models]; there are: {', '.join(study.models)}"
        )
    study.model(section.optimiser)
    return section.optimiser
