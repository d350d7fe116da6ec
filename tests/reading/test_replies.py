"""The table of difficult replies: what each is read as, by kind and language."""

from __future__ import annotations

import pytest

from benchmarks.reading import count, judge, load_replies

OPEN = load_replies("open")


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in OPEN}))
def test_no_reply_of_the_open_half_is_read_as_another_option(kind: str) -> None:
    assert [row["id"] for row in OPEN if row["kind"] == kind and judge(row) == "other"] == []


@pytest.mark.parametrize("half", ["open", "held"])
def test_hardly_any_reply_is_read_as_another_option_and_most_that_state_one_are_read(half: str) -> None:
    found = count(load_replies(half))
    assert found["replies"] > 500
    assert found["other_option"] <= 0.02
    assert found["read"] >= 0.85


@pytest.mark.parametrize("language", sorted({row["language"] for row in OPEN} - {"en"}))
def test_every_language_of_the_table_is_read(language: str) -> None:
    rows = [row for row in OPEN if row["language"] == language]
    assert any(judge(row) == "right" and row["expected"] != "unreadable" for row in rows) or all(
        row["expected"] == "unreadable" for row in rows
    )
