"""The time of the answer page tells gold from other questions no better than chance."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import mannwhitneyu

from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.answer_page.conftest import serve

GOLD, ITEMS, WORDS = 150, 600, 400
EXPERTS, ANSWERS = ("ana", "bea", "cleo", "dan"), 130
"""Each answers as often as the page allows one link in so short a time."""


def make_text(number: int) -> str:
    return f"note {number} " + "lorem " * (WORDS - 2)


@pytest.mark.slow
def test_response_time_does_not_reveal_gold_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{n},{make_text(n)}\n" for n in range(ITEMS)))
    gold = "".join(f"{make_text(ITEMS + n)},{'ab'[n % 2]}\n" for n in range(GOLD))
    Path("gold.csv").write_text("text,answer\n" + gold)
    roster = "".join(f'[[expert]]\nname = "{name}"\nclasses = ["*"]\n' for name in EXPERTS)
    Path("experts.toml").write_text(roster)
    Path("study.toml").write_text(
        '[study]\nname = "t"\nseed = 7\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n'
        '[experts]\ngold = "gold.csv"\ngold_share = 0.25\n'
    )
    oversight("label", "route")
    with Store(read_study("study.toml").store_url) as store:
        kinds = {control.id for control in store.controls.read_controls()}
    assert len(kinds) == GOLD
    times, answered, shown = list[float](), list[bool](), list[bool]()
    with serve(tmp_path) as desk:
        for expert in EXPERTS:
            own = desk.begin(expert)
            questions = desk.state(own)["questions"]
            for _ in range(ANSWERS):
                begun = time.perf_counter()
                status, told = desk.answer(own, "no", id=questions[0]["id"])
                times.append(time.perf_counter() - begun)
                assert status == 200
                answered.append(questions[0]["id"] in kinds)
                questions = told["state"]["questions"]
                shown.append(questions[-1]["id"] in kinds)
    for is_gold in (answered, shown):
        of_gold = [t for t, is_one in zip(times, is_gold, strict=True) if is_one]
        others = [t for t, is_one in zip(times, is_gold, strict=True) if not is_one]
        auc = mannwhitneyu(of_gold, others).statistic / (len(of_gold) * len(others))
        assert abs(auc - 0.5) < 0.1, auc  # three standard errors
