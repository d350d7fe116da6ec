"""A search of an older version is shown, but does not go on."""

from __future__ import annotations

import pytest

from oversight.agents.search import setup
from oversight.harness import ConfigError


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"sessions": "item"}, "compared proposals in another way"),
        ({"loop": 4}, "let items share a session"),
        ({"loop": 4, "sessions": "item"}, ""),
    ],
)
def test_an_older_search_is_refused_with_the_reason(spec: dict[str, object], reason: str) -> None:
    told = ""
    try:
        setup._refuse_older("s", spec)  # noqa: SLF001  no search of that version can be begun any more
    except ConfigError as error:
        told = str(error)
    assert reason in told
    assert bool(told) == bool(reason)
