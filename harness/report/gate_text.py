"""Format a gate's report as text, JSON, JUnit XML and Markdown."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree as ET

from oversight.harness.analysis import GateCheck, GateReport
from oversight.harness.estimate import FAIL, PASS
from oversight.harness.output import counted, make_printable
from oversight.harness.report.estimate_text import to_json
from oversight.harness.types import level_text

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKED = re.compile(r"([\\`*_{}\[\]#+!|~$@]|:(?=\S))")
_SIGNS = {PASS: "✅ pass", FAIL: "❌ fail"}


def requirement_text(check: GateCheck) -> str:
    """Return for example ``small: accuracy at least 80 %``, ``small: at most 2 points worse than large``."""
    bar = check.verdict.bar
    if not check.baseline:
        return f"{check.model}: {check.quantity} at least {_number(100 * bar)} %"
    return f"{check.model}: at most {_number(-100 * bar)} points worse than {check.baseline}"


def found_text(check: GateCheck) -> str:
    """Return a check's value, for example ``84.1 %``, with its interval if known; ``–`` without a value."""
    v = check.verdict
    sign = "+" if check.baseline else ""
    has_interval = not math.isnan(v.value) and not math.isnan(v.low)
    interval = f" [{100 * v.low:{sign}.1f}, {100 * v.high:{sign}.1f}]" if has_interval else ""
    return _value_text(check) + interval


def _value_text(check: GateCheck) -> str:
    value = 100 * check.verdict.value
    if math.isnan(value):
        return "–"
    return f"{value:+.1f} points" if check.baseline else f"{min(100.0, max(0.0, value)):.1f} %"


def evidence_text(check: GateCheck) -> str:
    """Return the smaller of the p-values for "below the bar" and "above the bar", with its method.

    If the check has no p-values, return the method and the level of its interval.
    """
    v = check.verdict
    if math.isnan(v.p_below):
        return f"{v.method}, {level_text(v.level)}"
    side, p = ("below", v.p_below) if v.p_below <= v.p_above else ("above", v.p_above)
    return f"{side} the bar: p = {p:.2g} ({v.method})"


def explain_verdict(check: GateCheck) -> list[str]:
    """Return lines that say why a check is undecided and how many answers would decide it, then remarks."""
    v = check.verdict
    lines = [v.why] if v.why else []
    if v.further is not None:
        more = ", so that more items would have to be asked about"
        if v.open_questions:
            more = f"; first have the {counted(v.open_questions, 'open question')} answered"
        lines.append(
            f"about {v.further:,} further answers would decide it in four of five such studies, if the truth "
            f"is {_value_text(check)} as estimated (a forecast){more}"
        )
    elif v.either_side:
        lines.append(
            "no forecast: the estimate is so near the bar that even a million answers may not decide it"
        )
    return [*lines, *check.remarks]


def gate_to_json(report: GateReport) -> dict[str, Any]:
    """Return the object that ``oversight gate --json`` prints; unknown values are null."""
    return {
        "study": report.study,
        "verdict": report.verdict,
        "level": report.level,
        "questions": dict(report.questions),
        "checks": [
            {
                "model": check.model,
                "baseline": check.baseline or None,
                "requirement": requirement_text(check),
                **to_json(check.verdict),
                "notes": list(check.remarks),
            }
            for check in report.checks
        ],
    }


def gate_to_junit(report: GateReport) -> str:
    """Return JUnit XML with one test case per model and bar.

    A test case fails unless the verdict is a pass; the type of the failure is ``fail`` or ``undecided``.
    """
    failures = sum(check.verdict.verdict != PASS for check in report.checks)
    counts = {"tests": str(len(report.checks)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": _xml(f"oversight gate: {report.study}"), **counts})
    for check in report.checks:
        name = {"classname": "oversight.gate", "name": _xml(requirement_text(check)), "time": "0"}
        case = ET.SubElement(suite, "testcase", name)
        said = _xml("\n".join([f"{found_text(check)}; {evidence_text(check)}", *explain_verdict(check)]))
        v = check.verdict
        if v.verdict != PASS:
            message = _xml(f"{v.verdict}: {v.why or found_text(check)}")
            ET.SubElement(case, "failure", {"type": v.verdict, "message": message}).text = said
        else:
            ET.SubElement(case, "system-out").text = said
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def gate_to_markdown(report: GateReport) -> str:
    """Return a Markdown section with a table, for example for GitHub's step summary."""
    rows = [f"## Gate of {_markdown(report.study)}: {report.verdict}", ""]
    rows += ["| bar | verdict | found | against the other side | answers |", "|---|---|---|---|---|"]
    for check in report.checks:
        v = check.verdict
        cells = [requirement_text(check), _SIGNS.get(v.verdict, "❔ undecided"), found_text(check)]
        cells += [evidence_text(check), str(v.answers)]
        rows.append("| " + " | ".join(map(_markdown, cells)) + " |")
    lines = [f"- {_markdown(f'{c.model}: {line}')}" for c in report.checks for line in explain_verdict(c)]
    drawn, answered = report.questions["drawn"], report.questions["answered"]
    wrong = f"Each verdict is wrong with probability at most {_number(100 * (1 - report.level))} %"
    return "\n".join([*rows, "", *lines, "", f"{answered} of {drawn} questions answered. {wrong}.", ""])


def _number(x: float) -> str:
    return f"{round(x, 6):g}"


def _xml(text: str) -> str:
    """Replace characters that XML 1.0 cannot contain; the XML writer escapes special characters."""
    return _NO_XML.sub("\ufffd", make_printable(text))


def _markdown(text: str) -> str:
    """Put a text on one line, and escape everything that Markdown or HTML would interpret."""
    text = " ".join(make_printable(text).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKED.sub(r"\\\1", text)
