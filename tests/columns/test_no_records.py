"""Estimates, comparisons and reports of a stored study make no record of an item, a question or an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.types import Answer, Item, Label, Prediction, Question
from tests.test_studies import call, copied, inside

ROUTED = ("partitioned", "targeted", "sequential", "disagreement")


@pytest.mark.filterwarnings("ignore:No artists with labels found")  # where no model has an estimate to draw
@pytest.mark.parametrize("study", ROUTED)
def test_no_record_is_made(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, *_: Any, **__: Any) -> None:
        raise AssertionError(f"a {type(self).__name__} was made")

    folder = copied(study, tmp_path)
    with inside(folder):
        for kind in (Answer, Item, Label, Prediction, Question):
            monkeypatch.setattr(kind, "__init__", refuse)
        for words in (["estimate", "--json"], ["compare", "--json"], ["report", "--json"]):
            assert call(words)[0] == 0
