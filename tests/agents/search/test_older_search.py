"""A search of an older version is shown, but does not go on."""

from __future__ import annotations

import pytest

from oversight.agents.search import setup
from oversight.harness import ConfigError


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"sessions": "item"}, "proposals raced otherwise"),
        ({"loop": 4}, "items shared a session"),
    ],
)
def test_an_older_search_is_refused_with_the_reason(spec: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        setup._refuse_older("s", spec)  # noqa: SLF001  no search of that version can be begun any more


def test_a_search_of_this_version_goes_on() -> None:
    setup._refuse_older("s", {"loop": 4, "sessions": "item"})  # noqa: SLF001
