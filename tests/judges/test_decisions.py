"""Replies of decision endpoints are read only if their meaning is certain."""

from __future__ import annotations

from typing import Any

import pytest

from oversight.harness.errors import BadInput
from oversight.harness.judges.decisions import LEVELS, read_answers
from oversight.harness.types import Item

ITEM = Item("1", "Which?", ("a", "b"), (0, 1))
SHARES = (0, 0, 0, 0.4, 0.6)


def read_score(levels: Any) -> tuple[float, ...]:
    answer = {"type": "score", "probabilities": levels}
    return read_answers({"option1": answer, "option2": answer}, ITEM, "score")


@pytest.mark.parametrize("keys", [LEVELS, tuple("01234")])
def test_levels_are_read_by_their_names_in_any_order(keys: tuple[str, ...]) -> None:
    named = dict(zip(keys, SHARES, strict=True))
    assert read_score(dict(reversed(named.items()))) == read_score(list(SHARES)) == pytest.approx((0.9, 0.9))


def test_levels_of_unknown_names_are_refused() -> None:
    with pytest.raises(BadInput, match="option1: needs 5 probabilities, one per level"):
        read_score(dict(zip("edcba", SHARES, strict=True)))
