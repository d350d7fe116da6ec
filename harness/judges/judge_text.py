"""Format a report on judges as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from oversight.harness.estimate import UNDECIDED
from oversight.harness.judges.quality import JudgeQuality
from oversight.harness.judges.questions import OPTIONS
from oversight.harness.judges.shares import Measure
from oversight.harness.judges.study_judges import (
    CALIBRATED,
    INFORMATIVE,
    CorrectedAccuracy,
    JudgeQuestion,
    JudgeReport,
    judge_verdict,
    report_judges,
    transport_verdict,
)
from oversight.harness.judges.transport import MOST_QUESTIONS, Transport
from oversight.harness.output import plain_table
from oversight.harness.report import estimate_to_json
from oversight.harness.types import caution_text, level_text

if TYPE_CHECKING:
    from rich.table import Table

    from oversight.harness.config import Study
    from oversight.harness.store import Store

_SEES = {INFORMATIVE: "tells true from false", UNDECIDED: "not shown to tell true from false"}
_STATES = {CALIBRATED: "its confidence holds", UNDECIDED: "calibration open"}


def report_to_json(report: JudgeReport) -> dict[str, Any]:
    """Return the object that ``oversight judge --json`` prints; withheld values are null, with a ``why``.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> from oversight.harness.judges import JudgeQuestion, report_judges
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     found = report_to_json(report_judges(store, study, JudgeQuestion(judges=["careful"])))
    ...
    >>> found["scope"], found["answers"]
    ('options', 49)
    """
    return {
        "study": report.study,
        "level": report.level,
        "scope": report.scope or None,
        "answers": report.answers,
        "why": report.why or None,
        "judges": [
            asdict(one)
            | {"holds": one.holds}
            | dict(zip(("informative", "calibrated"), judge_verdict(one), strict=True))
            for one in report.judges
        ],
        "dependence": None if report.dependence is None else asdict(report.dependence),
        "corrected": [_corrected_to_json(one) for one in report.corrected],
        "transport": [asdict(one) for one in report.transport],
        "remarks": list(report.remarks),
    }


def read_judges(study: Study, store: Store) -> dict[str, Any]:
    """Return the data of the page on judges that ``oversight view`` shows.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml", {"models": {"judge": "careful"}})
    >>> with Store(study.store_url) as store:
    ...     print(read_judges(study, store)["answers"])
    ...
    49
    """
    report = report_judges(store, study, JudgeQuestion())
    told = {
        "verdicts": [verdict_line(report, one) for one in report.judges],
        "about": scope_text(report),
        "marks": _mark_lines(report),
    }
    return report_to_json(report) | told


def _corrected_to_json(one: CorrectedAccuracy) -> dict[str, Any]:
    made = {"plain": one.plain, "judged": one.judged}
    told = {name: None if found is None else estimate_to_json(found) for name, found in made.items()}
    return asdict(one) | told | {"why": one.why or None}


def report_lines(report: JudgeReport) -> list[Any]:
    """Return lines and tables for the terminal, with the verdict on each judge first.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> from oversight.harness.judges import JudgeQuestion, report_judges
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     lines = report_lines(report_judges(store, study, JudgeQuestion(judges=["careful"])))
    ...
    >>> print(lines[0])
    careful: not shown to tell true from false; 5 answers about its first choices, at least 20 are needed. (!)
    """
    from rich.text import Text

    lines: list[Any] = [Text(verdict_line(report, one)) for one in report.judges]
    lines += [Text(line) for line in [saving_line(report)] if line]
    if report.why:
        lines.append(Text(f"The quality of the judges cannot be estimated: {report.why}."))
    if report.judges:
        lines += [Text(f"\n{scope_text(report)}"), _quality_table(report)]
    lines += [_corrected_table(report)]
    lines += [Text(f"  {one.model}: {one.why}") for one in report.corrected if one.why]
    lines += [Text(f"  {line}") for line in _mark_lines(report)]
    lines += [Text(line) for line in dependence_lines(report)]
    lines += [Text(line) for one in report.transport for line in transport_lines(one)]
    lines += [Text(f"note: {line}") for line in report.remarks]
    return lines


def verdict_line(report: JudgeReport, quality: JudgeQuality) -> str:
    """Return a line that says whether a judge tells true options from false ones and is calibrated."""
    sees, states = judge_verdict(quality)
    seen = _SEES.get(sees, "MISLEADS: false options get higher probabilities than true ones")
    stated = _STATES.get(states, "its confidence DOES NOT HOLD")
    if states != UNDECIDED and report.scope != OPTIONS:
        stated += " where a model predicts its first choice"
    if not quality.curve and not quality.error.n:
        stated = "no answers to calibrate by"
    elif not quality.curve:
        stated = quality.error.why
    line = f"{quality.name}: {seen}; {stated}." + ("" if quality.holds else " (!)")
    if any(one.judge == quality.name for one in report.transport):
        line += f" Transport: {transport_verdict(report.transport, quality.name).upper()}."
    return line


def saving_line(report: JudgeReport) -> str:
    """Return a sentence naming the models for which judges save questions; empty if this is unknown."""
    known = [one for one in report.corrected if one.least is not None]
    saves = [one.model for one in known if one.least is not None and one.least > 0]
    if saves:
        return f"The judges save questions for {', '.join(saves)}."
    return "The judges are not shown to save questions for any model." if known else ""


def scope_text(report: JudgeReport) -> str:
    """Return the line that says which questions the results are about."""
    about = "all options of every item" if report.scope == OPTIONS else "the options that models predict"
    level = level_text(report.level)
    return f"From {report.answers} answered questions, weighted to stand for {about} · {level}"


def measure_text(measure: Measure, scale: float = 100, digits: int = 0) -> str:
    """Return value and interval, for example ``63 [51, 74]``, or a dash if the measure is withheld."""
    if measure.value is None or measure.low is None or measure.high is None:
        return "–"
    value, low, high = (f"{scale * x:.{digits}f}" for x in (measure.value, measure.low, measure.high))
    return f"{value} [{low}, {high}]"


def _quality_table(report: JudgeReport) -> Table:
    table = plain_table("judge", "agrees %", "area", "calibration error", "overconfident by", "answers")
    withheld = []
    for one in report.judges:
        cells = [measure_text(one.agreement), measure_text(one.area, 1, 2)]
        cells += [measure_text(one.error), measure_text(one.bias)]
        mark = "" if one.holds else " (!)"
        table.add_row(one.name, *(cell if cell == "–" else cell + mark for cell in cells), str(one.n))
        for part, measure in (("area", one.area), ("calibration", one.error), ("agreement", one.agreement)):
            if measure.why:
                withheld.append(f"{one.name}: {part} withheld: {measure.why}")
        if one.silent:
            withheld.append(f"{one.name}: no probability for {one.silent} answered questions")
    if withheld:
        table.caption = "\n".join(withheld)
        table.caption_justify = "left"
    return table


def _corrected_table(report: JudgeReport) -> Table:
    table = plain_table("model", "accuracy % without", "with judges", "questions saved")
    for one in report.corrected:
        cells = [
            "–"
            if e is None
            else f"{100 * e.clipped:.1f} [{100 * e.low:.1f}, {100 * e.high:.1f}]"
            + ("" if e.holds else " (!)")
            for e in (one.plain, one.judged)
        ]
        saved = "–" if one.saved is None else f"{one.saved} [{one.least}, {one.most}]"
        table.add_row(one.model, *cells, saved)
    return table


def _mark_lines(report: JudgeReport) -> list[str]:
    """Return a line for each judge or model whose intervals may not hold, with the reason."""
    marked = [f"{one.name}: (!) may not hold: {one.why}" for one in report.judges if not one.holds]
    marked += [
        f"{one.model}: {caution_text(e)}"
        for one in report.corrected
        for e in (one.plain, one.judged)
        if e is not None and not e.holds
    ]
    return list(dict.fromkeys(marked))


def dependence_lines(report: JudgeReport) -> list[str]:
    """Return a line with the effective number of independent judges, then a line per correlation."""
    found = report.dependence
    if found is None:
        return []
    lines = []
    mark = "" if all(one.holds for one in report.judges) else " (!)"
    if found.worth is not None:
        told = found.worth.why or f"{measure_text(found.worth, 1, 1)} independent ones"
        lines.append(f"{len(report.judges)} judges are worth {told}{mark}")
    for one in (*found.between, *found.with_models):
        told = measure_text(one.correlation, 1, 2)
        told = f"withheld: {one.correlation.why}" if one.correlation.why else told
        lines.append(f"errors of {one.first} and {one.second}: correlation {told}{mark}")
    return lines


def transport_lines(made: Transport) -> list[str]:
    """Return lines that say whether a judge's calibration holds on one group of items.

    If the verdict is undecided, the last line gives the number of further questions that would decide it.
    """
    lines = [f"{made.judge} on {made.group}: {made.verdict.upper()} (margin {100 * made.margin:g} points)"]
    lines += [
        f"  probabilities {part.start:.2f} to {part.end:.2f}: gap {measure_text(part.gap)} points"
        for part in made.parts
    ]
    if made.why:
        lines.append(f"  {made.why}")
    if made.verdict == UNDECIDED and made.calibration is not None and not made.missing:
        more = "more than " + f"{MOST_QUESTIONS:,}" if made.further is None else f"about {made.further:,}"
        effect = "decide it in four of five studies" if made.parts else "give enough answers for a test"
        lines.append(f"  {more} further questions would {effect}")
    return lines
