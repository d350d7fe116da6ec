"""What the house may hold: one thing a name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.house.measure import (
    House,
    file_names,
    find_repeated,
    public_types,
    read_house,
)

SHARED_TYPES = {
    "Connection": "to a model's server, and to Label Studio's",
    "Stopped": "a command, and a program in the sandbox",
}
SHARED_FILES = {
    "client.py": "of a model's server, and of Label Studio's",
    "connection.py": "the same two",
    "gate.py": "of the sandbox, and the verb",
    "items.py": "the verb, and the page",
    "panel.py": "the ratings, and the page",
}
"""Names that two things have, each in a world of its own; no more may come."""


@pytest.mark.parametrize(("names", "shared"), [(public_types, SHARED_TYPES), (file_names, SHARED_FILES)])
def test_a_name_stands_for_one_thing(
    names: Callable[[House], dict[str, list[str]]], shared: dict[str, str]
) -> None:
    repeated = find_repeated(names(read_house()))
    assert {name: places for name, places in repeated.items() if name not in shared} == {}
    assert shared.keys() <= repeated.keys(), "a name that nothing shares any more"
    assert all(len(repeated[name]) == 2 for name in shared)
