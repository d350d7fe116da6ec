"""The cheapest mix of expert questions and judges, from plans and prices."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from oversight.harness.config import CostsSection
from oversight.harness.estimate import PlannedRow
from oversight.harness.judges import mix_sentence, price_plans

ROWS = (
    PlannedRow(model="m", uses="none", questions=300),
    PlannedRow(model="m", uses="judge", questions=200),
    PlannedRow(model="m", uses="pool+judge", questions=150),
    PlannedRow(model="m", uses="votes", sentence="not known"),
)
PLAN = SimpleNamespace(protocol="targeted", rows=ROWS)


@pytest.mark.parametrize(
    ("judge_usd", "uses", "usd"),
    [(0.0, "pool+judge", 300), (0.1, "judge", 440), (1.0, "none", 600)],
)
def test_dearer_judge_is_used_less(judge_usd: float, uses: str, usd: float) -> None:
    costs = CostsSection(question_usd=2, question_minutes=3, judge_usd=judge_usd)
    first, *others = price_plans([PLAN], costs, pool=2000, judges=2)  # type: ignore[list-item]
    assert first.cheapest
    assert not any(row.cheapest for row in others)
    assert first.uses == uses
    assert first.usd == pytest.approx(usd)
    assert len(others) == 2


def test_minutes_decide_between_equal_prices() -> None:
    costs = CostsSection(question_minutes=1)
    first, *_ = price_plans([PLAN], costs, pool=2000, judges=1)  # type: ignore[list-item]
    assert first.uses == "pool+judge"
    told = "150 targeted questions with pool and judge, 2,000 items judged"
    assert mix_sentence(first) == f"m: {told}: 0.00 USD, 2.5 hours"


def test_unknown_price_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="question_euro"):
        CostsSection(**json.loads('{"question_euro": 2}'))
