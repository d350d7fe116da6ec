"""Tables at 80 and 60 columns: every number is whole, and every name can be read."""

from __future__ import annotations

import re

import pytest
from rich.console import Group
from rich.table import Table

from oversight.harness.output import show

NAMES = [f"meta-llama/Llama-3.1-{size}B-Instruct-quantized-for-the-evaluation-of-2026" for size in (8, 70)]
NUMBERS = ["71.2 %", "66.4 % – 75.7 % (!)", "1,234 of 5,678", "−1.5 … +20.3 points"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_numbers_stay_whole_beside_long_names(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    for number in NUMBERS:
        table = Table("model", "estimator", "accuracy", "interval", "method", title="numbers")
        for name in NAMES:
            table.add_row(name, "maximum likelihood", "71.2 %", number, "likelihood ratio, all answers")
        show(Group(table))
        lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
        assert "\n".join(lines).count(number) >= len(NAMES)
        assert max(map(len, lines)) <= width
        start = next(line for line in lines if "interval" in line or "model" in line).index("model")
        assert all(name in "".join(line[start:].split(" ")[0] for line in lines) for name in NAMES)
