"""Protocols and parts of the page by name; the module of each is imported when it is first used.

CONTRIBUTING.md lists what a new protocol needs.
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
    "targeted": "oversight.protocols.routing.predicted_options:Targeted",
    "disagreement": "oversight.protocols.routing.predicted_options:Disagreement",
    "sequential": "oversight.protocols.routing.predicted_options:Sequential",
    "panel": "oversight.protocols.routing.panel_draw:BalancedPanel",
    "panel-random": "oversight.protocols.routing.panel_draw:RandomPanel",
    "open-answers": "oversight.protocols.open_answers.open_protocol:OpenAnswers",
}
"""Name in study.toml and on every question → location of the class. Add new protocols at the
end, because ``oversight plan`` uses the first for uniform options and the second for predicted options."""

DEFAULT_PROTOCOL = "partitioned"
"""Protocol of a study that does not name one."""

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
    "search": "oversight.agents.search.view.listed_searches:read_searches",
    "candidate": "oversight.agents.search.view.candidate:read_candidate",
    "candidate-item": "oversight.agents.search.view.exported:read_candidate_item",
}
"""Name of a part of the page that other packages provide → location of its function
``function(study, store, **parameters)``, which returns a value that can be written as JSON."""

EXPORTED_PARTS: dict[str, str] = {"search": "oversight.agents.search.view.exported:read_exported_parts"}
"""Name of a page → location of the function ``function(study, store)`` that yields all its parts for an
exported file, as pairs (name with query, value). Other pages are exported with one call without
parameters."""


def load_module(name: str) -> ModuleType:
    """Import a module of a higher-level package by name, so that this package has no static import of it."""
    return importlib.import_module(name)


def load_protocol(name: str) -> Any:
    """Return the class of a protocol; raise KeyError if the name is unknown.

    Examples
    --------
    >>> load_protocol("partitioned").statement.estimator
    'likelihood'
    """
    module, _, attribute = PROTOCOLS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def load_page(name: str, pages: Mapping[str, str] = PAGES) -> Any:
    """Return the function that makes a part of the page; raise KeyError if the name is unknown."""
    module, _, attribute = pages[name].partition(":")
    return getattr(load_module(module), attribute)


def state_protocol(name: str) -> ProtocolStatement:
    """Return the properties that a protocol's class states; raise KeyError if the name is unknown."""
    statement: ProtocolStatement = load_protocol(name).statement
    return statement


def state_protocols(names: Iterable[str]) -> tuple[ProtocolStatement, ...]:
    """Return the statements of protocols in alphabetical order of names; unregistered names are left out."""
    return tuple(state_protocol(name) for name in sorted(set(names) & PROTOCOLS.keys()))


def name_protocol(class_name: str) -> str:
    """Return the name under which a protocol's class is registered."""
    return next(name for name, place in PROTOCOLS.items() if place.endswith(f":{class_name}"))
