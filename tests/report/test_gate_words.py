"""A gate's files with names that no XML and no table could hold as they are."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from oversight.harness.analysis import GateCheck, GateReport
from oversight.harness.estimate import GateVerdict
from oversight.harness.report import gate_to_json, gate_to_junit, gate_to_markdown
from oversight.harness.report.gate_text import explain_verdict

HOSTILE = [
    "a\x00\x1b[31m\ufffe",
    "]]> <a b='c'>&amp;",
    "x|y\n| fake | ✅ pass |",
    "`*_~[](#)!@{}\\",
    "\u202egnp",
]


def report(name: str) -> GateReport:
    verdict = GateVerdict(bar=0.8, level=0.95, method="any time").withheld(f"because of {name}")
    check = GateCheck(model=name, baseline="", verdict=verdict, remarks=(name,))
    return GateReport(study=name, level=0.95, checks=(check,), questions={"drawn": 3, "answered": 1})


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_escaped(name: str) -> None:
    suites = ET.fromstring(gate_to_junit(report(name)))  # noqa: S314
    (case,) = suites.iter("testcase")
    (failure,) = suites.iter("failure")
    assert str(case.get("name")).endswith(": accuracy at least 80 %")
    assert failure.get("type") == "undecided"
    assert not {"\x00", "\x1b", "\ufffe", "\u202e"} & set(ET.tostring(suites, encoding="unicode"))
    text = gate_to_markdown(report(name))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 3
    assert rows[2].replace("\\\\", "").replace("\\|", "").count("|") == 6
    assert "<a" not in text
    assert json.loads(json.dumps(gate_to_json(report(name)), allow_nan=False))["checks"][0]["value"] is None


def test_open_questions_come_before_further_items() -> None:
    verdict = GateVerdict(bar=0.8, level=0.95, method="any time", further=40, either_side=True)
    for number, advice in ((0, "more items would have to be asked about"), (5, "first have the 5 open")):
        check = GateCheck(model="m", baseline="", verdict=replace(verdict, open_questions=number))
        assert advice in explain_verdict(check)[-1]
