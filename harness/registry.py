"""Protocols, and parts of the page, by name: tables of strings, each loaded when it is asked for.

A new protocol is one file that defines its class, one line here, and one in the stub of its package. What
`init` prints lists all protocols, so frozen texts change with it: tests/studies/README.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oversight.harness.types import ProtocolStatement

PROTOCOLS = {
    "partitioned": "oversight.protocols.routing.partitioned:Partitioned",
    "targeted": "oversight.protocols.routing.targeted:Targeted",
    "disagreement": "oversight.protocols.routing.targeted:Disagreement",
    "sequential": "oversight.protocols.routing.sequential:Sequential",
    "panel": "oversight.protocols.routing.panel_draw:BalancedPanel",
    "panel-random": "oversight.protocols.routing.panel_draw:RandomPanel",
    "open-answers": "oversight.protocols.open_answers.open_protocol:OpenAnswers",
}
"""Name in study.toml and on every question → where the class is. Add new ones after the second: ``oversight
plan`` takes the first for uniform options, the second for predicted ones."""

DEFAULT_PROTOCOL = "partitioned"
"""Protocol of a study that names none."""

AIMS = {
    "how accurate a model is": "partitioned",
    "which of two models is better": "disagreement",
    "whether a new model is not worse than the present one": "targeted",
    "what several annotators per item say": "panel",
}
"""A user's question → the protocol that answers it."""

OPEN_PROTOCOL = "open-answers"
"""Protocol of studies with open answers."""

PAGES: dict[str, str] = {
    "answers": "oversight.harness.open_answers:read_judged_answers",
    "judges": "oversight.harness.judges:read_judges",
    "collection": "oversight.protocols.collect.collection_page:read_collection",
    "search": "oversight.agents.search.view:read_searches",
    "candidate": "oversight.agents.search.view:read_candidate",
    "candidate-item": "oversight.agents.search.view:read_candidate_item",
}
"""Part of the page that extensions and the upper wings make → where it is: ``function(study, store,
**parameters)``, whose value JSON can hold."""

EXPORTED_PARTS: dict[str, str] = {"search": "oversight.agents.search.view:read_exported_parts"}
"""Page of an upper wing → what gives all parts of it that a file holds: ``function(study, store)``, pairs of
name with query and value. A page without a line here is held as it is without parameters."""


def load_module(name: str) -> ModuleType:
    """Import a module of an upper package by name, so that no import points up."""
    return importlib.import_module(name)


def load_protocol(name: str) -> Any:
    """Return the class of a protocol; KeyError if the name is unknown.

    Examples
    --------
    >>> load_protocol("partitioned").statement.estimator
    'likelihood'
    """
    module, _, attribute = PROTOCOLS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def load_page(name: str, pages: Mapping[str, str] = PAGES) -> Any:
    """Return the function that makes a part of the page; KeyError if the name is unknown."""
    module, _, attribute = pages[name].partition(":")
    return getattr(load_module(module), attribute)


def state_protocol(name: str) -> ProtocolStatement:
    """Return the statement of a protocol's class; KeyError if the name is unknown."""
    statement: ProtocolStatement = load_protocol(name).statement
    return statement


def state_protocols(names: Iterable[str]) -> tuple[ProtocolStatement, ...]:
    """Return the statements of protocols, in alphabetical order; unregistered ones have none."""
    return tuple(state_protocol(name) for name in sorted(set(names) & PROTOCOLS.keys()))


def name_protocol(class_name: str) -> str:
    """Return the name under which a class is registered."""
    return next(name for name, place in PROTOCOLS.items() if place.endswith(f":{class_name}"))
