"""kill -9 under a budget: what was under way counts in full at the next start, and once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from oversight.harness.llm import Price
from oversight.harness.store import Store
from tests.e2e.test_kill import command, kill_when
from tests.fakes.openai_server import Reply, fake_openai

pytestmark = pytest.mark.slow

PRICE, CAP = Price(10.0, 100.0), 0.3  # a call costs 0.212 cents
CONCURRENCY = 16


def lay_out(folder: Path, url: str) -> None:
    (folder / "study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
        f'[models.m]\nendpoint = "{url}"\nmodel = "m"\nconcurrency = {CONCURRENCY}\nmax_tokens = 20\n'
    )
    (folder / "prices.toml").write_text("[models.m]\ninput = 10\noutput = 100\n")
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(600)))


def test_four_kills_pay_no_more_than_the_cap(tmp_path: Path) -> None:
    budget = command("run", "--json", "--budget-usd", str(CAP))
    with fake_openai(lambda prompt, _: Reply("green", billed=(12, 20), stall=0.02)) as server:
        lay_out(tmp_path, server.url)
        for calls in (10, 40, 70, 90):
            process = subprocess.Popen(
                budget, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            assert kill_when(process, lambda calls=calls: len(server.prompts) >= calls)  # type: ignore[misc]
        ends = [
            subprocess.run(budget, cwd=tmp_path, capture_output=True, text=True, check=False)
            for _ in range(2)
        ]
        paid = sum(PRICE.dollars(*call) for call in server.bill)
    assert [end.returncode for end in ends] == [1, 1]
    assert "the budget of $0.3 is spent" in json.loads(ends[0].stdout)["models"]["m"]["stopped"]
    assert "answers were unfinished when an earlier command ended" in ends[0].stderr
    assert "answers were unfinished" not in ends[1].stderr  # charged once
    assert 0.5 * CAP <= paid <= CAP
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        [run] = store.runs.read_runs()
        charged = store.calls.read_charge(run["id"])
        assert 4 <= charged.answers <= 4 * CONCURRENCY
        assert sum(u.requests for u in store.runs.sum_usage(run["id"])) >= len(server.prompts)
