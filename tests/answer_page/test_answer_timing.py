"""The time of the answer page tells gold from other questions no better than chance."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from scipy.stats import mannwhitneyu

from harness.config import read_study
from harness.store import Store
from protocols.collect import AnswerDesk, GivenAnswer, Outcome

GOLD, ITEMS, WORDS = 150, 600, 400


def make_text(number: int) -> str:
    return f"note {number} " + "lorem " * (WORDS - 2)


@pytest.mark.slow
def test_time_tells_no_gold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n" + "".join(f"i{n},{make_text(n)}\n" for n in range(ITEMS)))
    gold = "".join(f"{make_text(ITEMS + n)},{'ab'[n % 2]}\n" for n in range(GOLD))
    Path("gold.csv").write_text("text,answer\n" + gold)
    Path("experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    Path("study.toml").write_text(
        '[study]\nname = "t"\nseed = 7\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n'
        '[experts]\ngold = "gold.csv"\ngold_share = 0.25\n'
    )
    oversight("label", "route")
    study = read_study("study.toml")
    shown: dict[bool, list[float]] = {True: [], False: []}
    stored: dict[bool, list[float]] = {True: [], False: []}
    with Store(study.store_url) as store:
        desk, kinds = AnswerDesk(study, store), {c.id for c in store.controls.read_controls()}
        state = desk.tell_state("ana")
        assert len(kinds) == GOLD
        for _ in range(500):
            name = state["questions"][0]["id"]
            begun = time.perf_counter()
            given = GivenAnswer(key=secrets.token_hex(16), asked_id=name, value="no")
            assert desk.take("ana", given) is Outcome.STORED
            ended = time.perf_counter()
            state = desk.tell_state("ana")
            stored[name in kinds].append(ended - begun)
            shown[state["questions"][-1]["id"] in kinds].append(time.perf_counter() - ended)
    for times in (stored, shown):
        # answers take longer as their number grows, and gold lies among all others
        auc = mannwhitneyu(times[True], times[False]).statistic / (len(times[True]) * len(times[False]))
        assert abs(auc - 0.5) < 0.12, (auc, median(times[True]), median(times[False]))
