"""Format a study's reports for the terminal: the first screen with one accuracy per model, and all tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from oversight.harness.analysis import EstimateOptions, GateReport, ModelReport, StudyReport
from oversight.harness.estimate import ClassComparison, Comparison
from oversight.harness.output import counted, plain_table
from oversight.harness.report.estimate_text import (
    check_lines,
    cost_text,
    group_reasons,
    items_text,
    label_texts,
    quality_lines,
    questions_text,
)
from oversight.harness.report.gate_text import evidence_text, explain_verdict, found_text, requirement_text
from oversight.harness.types import (
    CORRECTED,
    OUTSIDE,
    PROTOCOLS_OWN,
    Estimate,
    caution_lines,
    caution_text,
    estimator_name,
    interval_text,
    main_name,
    method_text,
    method_words,
    note_lines,
    percent,
    reading_lines,
    value_text,
)


def estimates_table(study: StudyReport) -> RenderableType:
    """Return a table with one row per model and estimator, followed by remarks."""
    table = Table(title=f"{study.name}: accuracy without ground truth")
    table.add_column("model", no_wrap=True)
    table.add_column("estimator", no_wrap=True)
    table.add_column("accuracy", justify="right")
    table.add_column("interval", justify="center")
    table.add_column("method")
    if study.opened:
        table.add_column("true", justify="right")
    for model in study.models:
        truth = ["" if model.truth is None else percent(model.truth)] if study.opened else []
        for name, e in model.estimates.items():
            table.add_row(
                model.name, estimator_name(name), value_text(e), interval_text(e), method_text(e), *truth
            )
        table.add_section()
    asked = questions_text(study.n_answers, study.n_questions, study.pool)
    lines = [*study.left_out, *(line for model in study.models for line in _notes(model, asked))]
    return Group(table, *map(Text, [*lines, *quality_lines(study.quality)]))


def classes_tables(study: StudyReport) -> list[RenderableType]:
    """Return the table of results by class, with remarks; an empty list if no such results were requested."""
    models = [(model.name, model.classes) for model in study.models if model.classes is not None]
    if not models:
        return []
    table = Table("model", "result", "value", "interval", "method", title=f"{study.name}: results by class")
    lines = list[str]()
    for name, found in models:
        for result, e in found.items():
            interval = "\n".join(filter(None, (interval_text(e), caution_text(e))))
            # `Text`, because rich would interpret square brackets in names of classes as markup
            table.add_row(name, Text(result), value_text(e), interval, method_text(e))
        table.add_section()
        lines += [f"{name}: {line}" for line in note_lines(found, group_reasons(found.undefined))]
    return [Group(table, *map(Text, lines))]


def differences_table(found: ClassComparison) -> RenderableType:
    """Return a table with a row per metric of each pair of models, then cautions and missing results."""
    table = Table("result", "better?", "difference", "interval", "p", "method", title="Differences by class")
    for name, pairs in found.results.items():
        for c in pairs:
            table.add_row(Text(name), *_pair_cells(c, cost=name == "cost"))
    notes = dict.fromkeys(str(note) for pairs in found.results.values() for c in pairs for note in c.notes)
    cautions = dict.fromkeys(
        f"(!) the interval may not hold: {c.why}" for pairs in found.results.values() for c in pairs if c.why
    )
    withheld = [f"{name}: no difference: {why}" for name, why in group_reasons(found.undefined).items()]
    return Group(table, *map(Text, [*found.left_out, *cautions, *notes, *withheld]))


def _pair_cells(c: Comparison, *, cost: bool = False) -> list[str]:
    """Return the cells of a row that says which of two models is better, and by how much."""
    low, value, high = (f"{x:+.4g}" if cost else f"{100 * x:+.1f}" for x in (c.low, c.difference, c.high))
    return [
        f"{c.first} = {c.second} (tie)" if c.verdict == "tie" else f"{c.verdict} is better",
        f"{c.first} − {c.second}: {value}",
        f"{low} … {high}" + ("" if cost else " points") + ("" if c.holds else " (!)"),
        f"{c.p_value:.3g}",
        method_words(c.method) + ("" if c.adjusted == "none" else f", {c.adjusted}"),
    ]


def gate_screen(report: GateReport) -> RenderableType:
    """Return the gate's verdict, then each bar of the gate with its result.

    An undecided bar is followed by the reason and by what would decide it.
    """
    blocks = [f"{report.verdict.upper()}   gate of {report.study}"]
    for check in report.checks:
        told = "" if len(report.checks) == 1 else f"   {check.verdict.verdict.upper()}"
        found = f"{found_text(check)} from {counted(check.verdict.answers, 'answer')}"
        lines = [f"{requirement_text(check)}{told}", f"  found {found}; {evidence_text(check)}"]
        blocks.append("\n".join([*lines, *(f"  {line}" for line in explain_verdict(check))]))
    return Text("\n\n".join(blocks))


def counts_table(
    estimates: Mapping[str, Estimate], undefined: Mapping[str, str], title: str
) -> RenderableType:
    """Return a table with one row per estimate, followed by lines with cautions and notes."""
    table = Table("estimator", "accuracy", "s.e.", "interval", "method", title=title)
    for name, e in estimates.items():
        se = "" if e.se is None else percent(e.se)
        table.add_row(estimator_name(name), value_text(e), se, interval_text(e), method_text(e))
    lines = [*caution_lines(estimates), *note_lines(estimates, undefined), *_star(estimates)]
    return Group(table, *map(Text, lines))


def _star(estimates: Mapping[str, Estimate]) -> list[str]:
    return [OUTSIDE] if any(e.value != e.clipped for e in estimates.values()) else []


def _notes(model: ModelReport, asked: str) -> list[str]:
    """Return all remarks on a model: cautions, counts, costs, checks, and reasons for missing estimates."""
    lines = [*caution_lines(model.estimates), f"{items_text(model)}, {asked}"]
    if labels := label_texts(model):
        lines.append(", ".join(labels))
    lines += reading_lines(model.steps)
    if model.usd_per_correct is not None:
        lines.append(cost_text(model))
    lines += [*note_lines(model.estimates, model.undefined), *check_lines(model)]
    return [f"{model.name}: {line}" for line in lines] + _star(model.estimates)


_PAPER = ("ord", "comp", "ivw", "ivw_half", "ml")
_MOST_LINES = 6
_MOST_NAMES = 3
_LONGEST_REASON = 160
_NUMBER = re.compile(r"\d[\d.,]*")
_ALL = "All estimators, checks and assumptions:  oversight estimate --all"
_CORRECTED_BY = {
    "corrected": "answers to gold questions",
    "hui_walter": "second experts' answers",
    "bounded": "their known error rates",
}


def first_screen(study: StudyReport, options: EstimateOptions) -> list[RenderableType]:
    """Return the first screen: one row per model with accuracy and interval, then a few lines of remarks.

    Warnings about failed checks and invalid intervals precede the table. If no model has an accuracy, the
    reason is shown instead of the table.
    """
    names = f"{study.name}: {counted(study.n_items, 'item')}, {counted(len(study.experts), 'expert')}, "
    blocks = [
        [names + questions_text(study.n_answers, study.n_questions, study.pool)],
        _warnings(study.models),
    ]
    estimated = any(model.accuracy for model in study.models)
    middle: list[RenderableType] = [_table(study, options)] if estimated else [Text(_why_none(study))]
    lines = _plain_lines(study, options)
    pointers = ["Which model is better?  oversight compare"] if len(study.models) > 1 else []
    return [
        *(Text("\n".join(block) + "\n") for block in blocks if block),
        *middle,
        *([Text("\n" + "\n".join(lines))] if lines else []),
        *(part for table in classes_tables(study) for part in (Text(), table)),
        Text("\n" + "\n".join([*pointers, _ALL])),
    ]


def paper_report(study: StudyReport) -> StudyReport:
    """Return the report with only the estimators of the partitioned-supervision paper."""
    models = [
        replace(
            model,
            estimates={name: e for name, e in model.estimates.items() if name in _PAPER},
            undefined={name: why for name, why in model.undefined.items() if name in _PAPER},
        )
        for model in study.models
    ]
    return replace(study, models=tuple(models))


def _table(study: StudyReport, options: EstimateOptions) -> Table:
    """Return a table with one row per model; long names are wrapped, numbers are not."""
    rows = [(model, name, e) for model in study.models for name, e in _rows(model, options)]
    shown = [e for _, _, e in rows if e is not None]
    levels = {_level(e.level) for e in shown}
    # At an interim analysis, an interval's level differs from the joint level, so the title omits the level.
    title = f"{levels.pop()} interval" if len(levels) == 1 and not options.looks else "interval"
    width = max(len(f"{100 * e.low:.1f}") for e in shown)
    cells = [_interval_cell(e, width, named=len(levels) > 1) for e in shown]
    table = plain_table()
    table.add_column("model", overflow="fold")
    table.add_column("accuracy", justify="right", no_wrap=True, min_width=8)
    table.add_column(title, no_wrap=True, min_width=max(map(len, [title, *cells])))
    if study.opened:
        table.add_column("true", justify="right", no_wrap=True, min_width=6)
    left = iter(cells)
    for model, name, e in rows:
        truth = ["" if model.truth is None else percent(model.truth)] if study.opened else []
        row = ["–", ""] if e is None else [value_text(e), next(left)]
        table.add_row(name, *row, *truth)
    return table


def _rows(model: ModelReport, options: EstimateOptions) -> list[tuple[str, Estimate | None]]:
    """Return a model's rows as (name, estimate): the accuracy and, if requested, the anytime-valid one."""
    anytime = model.estimates.get("anytime") if options.anytime else None
    return [(model.name, model.accuracy), *([("  at any time", anytime)] if anytime else [])]


def _interval_cell(e: Estimate, width: int, *, named: bool) -> str:
    level = f" ({_level(e.level)})" if named else ""
    return f"{100 * e.low:>{width}.1f} – {100 * e.high:.1f}{level}" + ("" if e.holds else " (!)")


def _level(level: float) -> str:
    return f"{round(100 * level, 2):g} %"


def _warnings(models: Sequence[ModelReport]) -> list[str]:
    """Return warnings about failed checks and doubtful intervals, then the command that explains them."""
    failed = [(model.name, c) for model in models for c in model.checks if c.passed is False]
    doubted = [(m.name, m.accuracy.why) for m in models if m.accuracy is not None and m.accuracy.why]
    lines = []
    if failed:
        checks = list(dict.fromkeys(check.name for _, check in failed))
        whom = _who(dict.fromkeys(name for name, _ in failed), len(models))
        told = f"! {counted(len(checks), 'check')} FAILED ({', '.join(checks)}){whom}"
        first = _group((name, check.message) for name, check in failed if check.name == checks[0])
        lines.append(f"{told}: {_cut(first[0][0])}")
    if doubted:
        reasons = _group(doubted)
        more = f" (and {counted(len(reasons) - 1, 'other reason')})" if reasons[1:] else ""
        lines.append(f"! Intervals marked (!) may not hold: {_cut(reasons[0][0])}{more}")
    return [*lines, "  Read this before you report a number:  oversight estimate --all"] if lines else []


def _plain_lines(study: StudyReport, options: EstimateOptions) -> list[str]:
    """Return the lines below the table: remarks, then as many notes on estimates as `_MOST_LINES` allows."""
    models = study.models
    estimated = {m.name: m.accuracy for m in models if m.accuracy is not None}
    # skip the first line, which contains only counts; the other lines are warnings
    loosely = _group((m.name, line) for m in models for line in reading_lines(m.steps)[1:])
    none = _group((m.name, _reason(m)) for m in models if m.accuracy is None) if estimated else []
    lines = [
        *_origin_lines(list(estimated.values())),
        *_unreadable_lines({name: e.n.unreadable for name, e in estimated.items() if e.n.unreadable}),
        *_option_lines(models, options),
        *_unfinished_lines(models),
        *(f"No accuracy{_who(names, len(models))}: {why}" for why, names in none),
        *(_note_line(line, names, len(models)) for line, names in loosely),
        *study.left_out,
        *_check_lines(models),
        *_star(estimated),
    ]
    notes = _group((name, note) for name, e in estimated.items() for note in map(str, e.notes))
    told = [_note_line(note, names, len(models)) for note, names in notes]
    room = max(0, _MOST_LINES - len(lines))
    more = [f"{counted(len(told) - room, 'more note')}:  oversight estimate --all"] if told[room:] else []
    return [*lines, *told[:room], *more]


def _origin_lines(estimates: Sequence[Estimate]) -> list[str]:
    """Return a line such as ``From 41 yes and 138 no answers; left out: 1 unsure``, or no line.

    If a count differs between models, its range is given.
    """
    if not estimates:
        return []
    yes, no = _range(e.n.ordinary for e in estimates), _range(e.n.complementary for e in estimates)
    kinds = {
        "unsure": [e.n.abstained for e in estimates],
        "open": [e.n.unlabelled for e in estimates],
        "not asked about": [e.n.unasked for e in estimates],
        "without a reply": [e.n.failed for e in estimates],
    }
    left = [f"{_range(numbers)} {kind}" for kind, numbers in kinds.items() if any(numbers)]
    per_model = " per model" if "–" in yes + no else ""
    out = f"; left out: {', '.join(left)}" if left else ""
    return [f"From {yes} yes and {no} no answers{per_model}{out}."]


def _unreadable_lines(numbers: Mapping[str, int]) -> list[str]:
    if not numbers:
        return []
    shown = ", ".join(f"{name} {number}" for name, number in numbers.items())
    if len(numbers) > _MOST_NAMES:
        most = max(numbers, key=numbers.__getitem__)
        shown = f"{_range(numbers.values())} for each of {len(numbers)} models, most for {most}"
    return [f"Unreadable replies count as wrong: {shown}."]


def _option_lines(models: Sequence[ModelReport], options: EstimateOptions) -> list[str]:
    """Return lines that say how the options of the command changed the intervals."""
    lines = []
    if options.looks:
        lines.append(
            f"Look {options.look} of {options.looks}: intervals are widened to {_level(options.level_now)}, "
            f"so that all looks hold together at {_level(options.level)}."
        )
    if options.anytime:
        lines.append(
            "The interval 'at any time' is valid however often you look, but the interval above it only for "
            "a single look."
        )
        lines += _missing_lines(models, ["anytime"], "No interval that holds at any time", len(models))
    used = {main_name(model.estimates) for model in models}
    lines += [
        f"Experts' errors are corrected by {_CORRECTED_BY[name]}." for name in CORRECTED if name in used
    ]
    uncorrected = [m for m in models if m.accuracy and main_name(m.estimates) not in CORRECTED]
    return lines + _missing_lines(uncorrected, CORRECTED, "Experts' errors are not corrected", len(models))


def _missing_lines(models: Sequence[ModelReport], names: Sequence[str], what: str, of: int) -> list[str]:
    """Return one line per reason why some models lack one of the estimates `names`."""
    missing = [(m.name, m.undefined[name]) for name in names for m in models if name in m.undefined]
    return [f"{what}{_who(whom, of)}: {why}" for why, whom in _group(missing)]


def _unfinished_lines(models: Sequence[ModelReport]) -> list[str]:
    unfinished = {
        m.name: f"{m.name} {m.items.predicted - m.fewer} of {m.items.of}"
        for m in models
        if m.items.unpredicted or m.fewer
    }
    shown = list(unfinished.values())[:_MOST_NAMES]
    more = [f"and {len(unfinished) - len(shown)} more"] if len(unfinished) > len(shown) else []
    return [f"RUN NOT FINISHED, items answered: {', '.join([*shown, *more])}."] if shown else []


def _check_lines(models: Sequence[ModelReport]) -> list[str]:
    """Return a line with three numbers: checks passed for all models, checks failed, checks not made."""
    states = dict[str, set[str]]()
    for model in models:
        for check in model.checks:
            states.setdefault(check.name, set()).add(check.state)
    if not states:
        return []
    failed = sum("failed" in found for found in states.values())
    passed = sum(found == {"passed"} for found in states.values())
    missing = len(states) - failed - passed
    whom = f" for {_all_of(len(models))}" if len(models) > 1 else ""
    if passed == len(states):
        return [f"Assumption checks: {f'all {passed}' if passed > 1 else 'the only one'} passed{whom}."]
    others = [f"{n} {what}" for n, what in ((failed, "failed"), (missing, "could not be made")) if n]
    return [f"Assumption checks: {', '.join([f'{passed} passed{whom}', *others])}."]


def _why_none(study: StudyReport) -> str:
    """Return why no model has an accuracy: a reason per model, or the names of experts without answers."""
    if all("accuracy" in model.undefined for model in study.models):
        return f"No accuracy: {_reason(study.models[0])}"
    idle = [x for x in study.experts if not x.yes + x.no + x.abstained]
    silent = [f"{x.name} ({x.asked} open)" for x in idle]
    # After a reassignment, do not name experts without answers: their questions are with other experts, who
    # may have answered some.
    if silent and not study.holders and not any(model.unusable for model in study.models):
        has = "has" if len(silent) == 1 else "have"
        return f"No accuracy yet: {_join(silent, len(silent))} {has} not answered."
    return "\n".join(
        f"No accuracy yet{_who(names, len(study.models))}: {why}"
        for why, names in _group((m.name, _reason(m)) for m in study.models)
    )


def _reason(model: ModelReport) -> str:
    """Return the reason why the estimate of the protocol is missing for a model."""
    names = ("accuracy", *PROTOCOLS_OWN)
    return model.unusable or next((model.undefined[name] for name in names if name in model.undefined), "")


def _note_line(note: str, names: Sequence[str], of: int) -> str:
    first = note[:1].upper() + note[1:]
    return f"{first}." if len(names) == of else f"{_join(names, _MOST_NAMES)}: {note}."


def _group(told: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Return each text once, with the names of all models that have this text.

    Texts that differ only in numbers count as the same text.
    """
    alike = dict[str, dict[str, str]]()
    for name, text in told:
        alike.setdefault(_NUMBER.sub("#", text), {}).setdefault(name, text)
    return [(_first_of(texts), list(texts)) for texts in alike.values()]


def _first_of(texts: Mapping[str, str]) -> str:
    first, text = next(iter(texts.items()))
    return text if len({*texts.values()}) == 1 else f"{text} (numbers of {first})"


def _who(names: Iterable[str], of: int) -> str:
    """Return for example `` for both models`` or `` for a, b, c and 4 more``; empty if there is one model."""
    named = list(names)
    if of == 1:
        return ""
    return f" for {_all_of(of)}" if len(named) == of else f" for {_join(named, _MOST_NAMES)}"


def _all_of(models: int) -> str:
    return "both models" if models == 2 else f"all {models} models"


def _join(names: Sequence[str], most: int) -> str:
    shown = list(names[:most])
    last = [f"{len(names) - most} more"] if len(names) > most else [shown.pop()]
    return " and ".join(filter(None, [", ".join(shown), *last]))


def _range(numbers: Iterable[int]) -> str:
    found = [*numbers]
    return f"{min(found)}–{max(found)}" if min(found) < max(found) else str(found[0])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"
