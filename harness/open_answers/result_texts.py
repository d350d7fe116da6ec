"""Format estimates on open answers as JSON and as terminal text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from oversight.harness.open_answers.estimates import METRICS, OpenEstimate, OpenResult
from oversight.harness.open_answers.judged_study import JudgedStudy
from oversight.harness.output import counted, plain_table
from oversight.harness.types import percent

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_ABOUT = ("metric", "model", "other", "field")
_TITLES = {"score": "score", "met": "units met", "no_error": "without error"}


def result_to_json(result: OpenResult, judged: JudgedStudy) -> dict[str, Any]:
    """Convert all estimates to JSON: by model, by field, and differences of models.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judgements
    >>> from oversight.harness.open_answers import Frame, JudgedStudy, estimate_open
    >>> from oversight.harness.store import StoredAnswer
    >>> judged = example_judgements()
    >>> frame, experts = Frame(answers=[StoredAnswer("i0", "m", "a0", "0 mg")], units=()), {"ann": "law"}
    >>> given = {"frame": frame, "drawn": (), "judge": None, "answered": 12, "later": {}}
    >>> study = JudgedStudy(judgements=judged, experts=experts, **given)
    >>> found = result_to_json(estimate_open(judged, experts=experts), study)
    >>> found["models"]["m"]["met"]["value"]
    0.75
    """
    return {
        "level": result.level,
        **_count(judged),
        "models": _list_models(result, judged, None),
        "fields": {field: _list_models(result, judged, field) for field in find_fields(result)},
        "differences": [asdict(e) for e in result.estimates if e.other is not None and e.field is None],
        "later": list(judged.later.values()),
        "experts": [asdict(expert) for expert in result.experts],
    }


def result_to_text(result: OpenResult, judged: JudgedStudy) -> list[RenderableType]:
    """Format all estimates for the terminal: scores and differences, a table, fields, and remarks.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judgements
    >>> from oversight.harness.open_answers import Frame, JudgedStudy, estimate_open
    >>> from oversight.harness.store import StoredAnswer
    >>> judged = example_judgements()
    >>> frame, experts = Frame(answers=[StoredAnswer("i0", "m", "a0", "0 mg")], units=()), {"ann": "law"}
    >>> given = {"frame": frame, "drawn": (), "judge": None, "answered": 12, "later": {}}
    >>> study = JudgedStudy(judgements=judged, experts=experts, **given)
    >>> found = result_to_text(estimate_open(judged, experts=experts), study)
    >>> len(found)
    3
    """
    from rich.text import Text

    models, lines = judged.frame.models, list[str]()
    lines += [_say_score(e) for model in models for e in _pick(result, "score", model, field=None)]
    compared = [e for e in result.estimates if e.metric == "score" and e.other and e.field is None]
    lines += [_say_difference(e) for e in compared]
    parts: list[RenderableType] = [Text("\n".join(lines) + "\n"), _table(result, models, None)]
    fields = find_fields(result)
    for field in fields if len(fields) > 1 else ():
        parts += [Text(f"\n{field}"), _table(result, models, field)]
    found = _count(judged)
    told = f"{found['answered']} of {counted(found['put'], 'question')} answered, {found['drawn']} drawn"
    parts.append(
        Text("\n" + "\n".join([told, *_say_experts(result), *judged.later.values(), *_find_doubts(result)]))
    )
    return parts


def _say_experts(result: OpenResult) -> list[str]:
    """Return sentences on how often experts were right on control questions, and on the corrected scores."""
    told = list[str]()
    for both in result.experts[:1]:
        told += [
            f"experts said {word} to {rate.successes} of {counted(rate.of, 'unit')} whose truth is {word}"
            for word, rate in (("yes", both.yes_for_yes), ("no", both.no_for_no))
            if rate is not None
        ]
        if both.agrees is not None:
            n, of = both.agrees.successes, counted(both.agrees.of, "question")
            told.append(f"two experts gave the same reply to {n} of {of} that both answered")
    told += [
        f"{e.model}: score corrected for experts' errors {percent(e.corrected)} "
        f"[{percent(e.corrected_low)}, {percent(e.corrected_high)}]"
        for e in result.estimates
        if (e.metric, e.other, e.field) == ("score", None, None)
        if e.corrected is not None and e.corrected_low is not None and e.corrected_high is not None
    ]
    return told


def find_fields(result: OpenResult) -> list[str]:
    """Fields with separate results, in alphabetical order."""
    return sorted({e.field for e in result.estimates if e.field is not None})


def _count(judged: JudgedStudy) -> dict[str, int]:
    drawn = {row.number for row in judged.drawn}
    return {"drawn": len(drawn), "put": judged.put, "answered": judged.answered}


def _pick(result: OpenResult, metric: str, model: str, *, field: str | None) -> Iterator[OpenEstimate]:
    wanted = (metric, model, None, field)
    return (e for e in result.estimates if (e.metric, e.model, e.other, e.field) == wanted)


def _list_models(result: OpenResult, judged: JudgedStudy, field: str | None) -> dict[str, Any]:
    """Return model → metric → the values of its estimate in a field."""
    found = dict[str, Any]()
    for model in judged.frame.models:
        made = [asdict(e) for metric in METRICS for e in _pick(result, metric, model, field=field)]
        found[model] = {
            told["metric"]: {name: value for name, value in told.items() if name not in _ABOUT}
            for told in made
        }
    return found


def describe(estimate: OpenEstimate) -> str:
    """Return a value with its interval, or the reason why there is none. (!) marks a doubtful interval."""
    if estimate.value is None:
        return f"no number: {estimate.withheld}"
    ends = [estimate.low, estimate.high]
    interval = "" if None in ends else f" [{', '.join(percent(end) for end in ends if end is not None)}]"
    return f"{percent(estimate.value)}{interval}{'' if estimate.holds else ' (!)'}"


def _say_score(estimate: OpenEstimate) -> str:
    judged = f"{counted(estimate.judged, 'unit')} judged in {counted(estimate.items, 'item')}"
    found = "no score" if estimate.value is None else f"score {describe(estimate)}"
    return f"{estimate.model}: {found}, {judged}"


def _say_difference(estimate: OpenEstimate) -> str:
    low, high, value = estimate.low, estimate.high, estimate.value
    if value is None or low is None or high is None:
        return f"{estimate.model} − {estimate.other}: {describe(estimate)}"
    if low > 0:
        verdict = f"{estimate.model} is better"
    elif high < 0:
        verdict = f"{estimate.other} is better"
    else:
        verdict = "undecided"
    points = f"{100 * value:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]"
    mark = "" if estimate.holds else " (!)"
    return f"{estimate.model} − {estimate.other}: {points}{mark}, {verdict}"


def _table(result: OpenResult, models: Sequence[str], field: str | None) -> Table:
    table = plain_table()
    table.add_column("model", overflow="fold")
    for metric in METRICS:
        table.add_column(_TITLES[metric], justify="right")
    for model in models:
        cells = []
        for metric in METRICS:
            found = next(_pick(result, metric, model, field=field), None)
            cells.append("" if found is None else describe(found) if found.value is not None else "–")
        table.add_row(model, *cells)
    return table


def _find_doubts(result: OpenResult) -> list[str]:
    """Return the distinct reasons why intervals may not be valid and why values are withheld.

    Only estimates for all fields together are considered.
    """
    whole = [e for e in result.estimates if e.field is None]
    doubts = dict.fromkeys(e.why for e in whole if e.why)
    withheld = dict.fromkeys(e.withheld for e in whole if e.withheld)
    return [f"(!) {why}" for why in doubts] + [f"–: {why}" for why in withheld]
