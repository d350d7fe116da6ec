"""What the house may hold: files that can be read in one go, folders seen at a glance, one thing a name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.house.measure import (
    FULLEST_FOLDER,
    House,
    count_files,
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
GROWING = {"harness/store/migrations/versions": "a migration that was published stays as it is"}
"""Folders that may hold more, and why."""


def test_no_folder_is_full() -> None:
    full = {folder: files for folder, files in count_files(read_house()).items() if files > FULLEST_FOLDER}
    assert full.keys() <= GROWING.keys()


@pytest.mark.parametrize(("names", "shared"), [(public_types, SHARED_TYPES), (file_names, SHARED_FILES)])
def test_a_name_stands_for_one_thing(
    names: Callable[[House], dict[str, list[str]]], shared: dict[str, str]
) -> None:
    repeated = find_repeated(names(read_house()))
    assert {name: places for name, places in repeated.items() if name not in shared} == {}
    assert shared.keys() <= repeated.keys(), "a name that nothing shares any more"
    assert all(len(repeated[name]) == 2 for name in shared)
