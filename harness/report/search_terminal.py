"""A search as text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from oversight.harness.report.search_findings import SearchedCandidate, SearchedWinner, SearchReport
from oversight.harness.types import percent

_SCALES = {"accuracy": "accuracy", "q": "q (the share of refused options avoided, which is no accuracy)"}


def search_text(report: SearchReport) -> str:
    """Power, A/A line, lineage with the front marked, and the winner."""
    used = " · ".join(f"{name} {count:,}" for name, count in report.spent.items())
    lines = [
        f"search {report.id} of {report.created}: {report.policy}, seed {report.seed}, "
        f"fitness {report.fitness}",
        f"{report.proposals} of {report.planned} proposals, {len(report.refused)} refused, "
        f"{report.duplicates} there already; tokens: {used}",
        *report.power,
        f"A/A: {report.a_a}",
        "",
        f"lineage, {_SCALES[report.scale]} with about 95 % (* on the front of {report.scale} and tokens, "
        "~ dropped in the race):",
        *lineage_lines(report.candidates, report.scale),
        *(f"refused: {indent_rest(reason)}" for reason in report.refused),
    ]
    if report.winner is not None:
        lines += ["", *winner_lines(report.winner, report.scale)]
    tested = [
        f"test, {on_one_line(c.name)} [{c.id}]: {c.test}" for c in report.candidates if c.test is not None
    ]
    if tested:
        lines += ["", "every member on the test items:", *tested]
    return "\n".join(lines)


def indent_rest(reason: str) -> str:
    """The same of a reason: all lines but the first are indented."""
    return reason.rstrip("\n").replace("\n", "\n    ")


def on_one_line(name: str) -> str:
    """A name that a model gave; several lines of it could pass for lines of the report."""
    return " ".join(name.split("\n")).rstrip()


def lineage_lines(candidates: Sequence[SearchedCandidate], scale: str = "accuracy") -> list[str]:
    """Every candidate below its first parent, indented."""
    children: dict[str, list[SearchedCandidate]] = {}
    for c in candidates:
        children.setdefault(c.parents[0] if c.parents else "", []).append(c)
    lines: list[str] = []

    def add(c: SearchedCandidate, depth: int) -> None:
        mark = "*" if c.on_front else "~" if c.raced_out else " "
        standing = "all its answers failed" if c.answers else "no answers yet"
        verdict = ""
        if (s := c.standing) is not None:
            standing = f"{s.text(scale)} on {s.n_items} items, {s.tokens:.0f} tokens{s.shares}"
            verdict = f", {s.verdict} (P {s.p_better:.2f})" if s.verdict else ""
        change = f": {c.note.splitlines()[0][:60]}" if c.note and c.parents else ""
        lines.append(f"{mark} {'  ' * depth}{on_one_line(c.name)} [{c.id}] {standing}{verdict}{change}")
        for child in children.get(c.id, ()):
            add(child, depth + 1)

    for root in children.get("", ()):
        add(root, 0)
    return lines


def winner_lines(w: SearchedWinner, scale: str = "accuracy") -> list[str]:
    """The winner with what luck is taken off, and the test, which is on the scale of accuracy always."""

    def said(score: float) -> str:  # moved into the range, as on the page
        score = min(1.0, max(0.0, score))
        return f"q {score:.3f}" if scale == "q" else percent(score)

    confirmed = "" if w.confirmed is None else f"; on fresh items alone {said(w.confirmed)}"
    lines = [
        f"winner: {on_one_line(w.name)} [{w.id}]: {said(w.reported)}, about 95 % {said(w.low)} – "
        f"{said(w.high)}, corrected for being the best of many (uncorrected {said(w.naive)}{confirmed})"
    ]
    if w.why:
        lines.append(f"the winner's interval may not hold: {on_one_line(w.why)}")
    if w.test is not None and w.start_test is not None:
        lines.append(f"test, winner: {w.test}")
        lines.append(f"test, start:  {w.start_test}")
    if w.untested:
        lines.append(f"test, accuracies: not known: {on_one_line(w.untested)}")
    if w.difference:
        lines.append(f"test, difference: {w.difference}")
    if w.truth is not None and w.start_truth is not None:
        lines.append(f"by the opened key: winner {percent(w.truth)}, start {percent(w.start_truth)}")
    if w.unanswered:
        lines.append(f"test items without an option: {w.unanswered}")
    return lines
