"""Seeds of many names at once are those of each name."""

from __future__ import annotations

from oversight.harness import derive_seed, derive_seeds


def test_seeds_of_many_names_are_those_of_each() -> None:
    names = ["a", "ü", "", "x\x1fy"]
    assert derive_seeds(7, last=names) == [derive_seed(7, name) for name in names]
    assert derive_seeds(7, "shuffle", last=names) == [derive_seed(7, "shuffle", name) for name in names]
