"""Format a study's results as text and as JSON, identically for commands, the terminal and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import orjson

from oversight.harness.output import pool_text
from oversight.harness.types import Counts, Estimate, main_name, plain_fields

if TYPE_CHECKING:
    from rich.table import Table

    from oversight.harness.analysis import (
        ExpertQuality,
        ModelReport,
        StudyComparison,
        StudyReport,
    )
    from oversight.harness.estimate import ClassComparison, ClassEstimates, Comparison, Rate, RateChange
    from oversight.harness.panel import AgreementReport, GrowthPoint, HumanLevel, Parity, Superhuman

QUALITY_TITLES = {
    "name": "expert",
    "answered": "answered",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "steadiness": "same again",
    "agreement": "as colleague",
    "drift": "drift",
}
"""Reported property of an expert → title of its column."""


def items_text(model: ModelReport) -> str:
    """Return for example ``44 of 200 items answered by the model (RUN NOT FINISHED: 150 not asked yet)``."""
    items, few = model.items, (model.fewer, "with fewer samples than others")
    missing = [
        f"{number} {what}"
        for number, what in ((items.unpredicted, "not asked yet"), few, (items.failed, "failed"))
        if number
    ]
    text = f"{items.predicted} of {items.of} items answered by the model"
    if not missing:
        return text
    return f"{text} ({'RUN NOT FINISHED: ' if items.unpredicted or model.fewer else ''}{', '.join(missing)})"


def questions_text(answered: int, drawn: int, pool: tuple[int, int] | None = None) -> str:
    """Return for example ``229 of 240 questions answered, 240 of 12,000 items drawn``.

    The second part is present only if items were drawn from a pool.
    """
    text = f"{answered} of {drawn} questions answered"
    return f"{text}, {pool_text(*pool)}" if pool else text


def label_texts(model: ModelReport) -> list[str]:
    """Return a text for each count above 0 of a model's labels, for example the number of yes answers."""
    counts, items = next((e.n for e in model.estimates.values()), Counts()), model.items
    return [
        f"{number} {what}"
        for number, what in (
            (counts.ordinary, "yes (ordinary labels)"),
            (counts.complementary, "no (complementary labels)"),
            (counts.abstained, "questions abstained from"),
            (counts.unreadable, "labelled items with an unreadable answer (count as wrong)"),
            (counts.failed, "labelled items without an answer of the model (excluded)"),
            (items.unlabelled, "items without an answer"),
            (items.unasked, "items without a question"),
        )
        if number
    ]


def check_lines(model: ModelReport) -> list[str]:
    """Return a line per check that did not pass, then a line with the numbers of checks by outcome."""
    if not model.checks:
        return []
    lines = [f"check {c.name!r} {c.state}: {c.message}" for c in model.checks if not c.passed]
    states = Counter(c.state for c in model.checks)
    passed, failed, not_made = (states[state] for state in ("passed", "failed", "not made"))
    if not failed + not_made:
        return [f"all {passed} checks of the assumptions passed" if passed > 1 else "the one check passed"]
    return [*lines, f"checks of the assumptions: {passed} passed, {failed} failed, {not_made} not made"]


def cost_text(model: ModelReport) -> str:
    """Return for example ``$1.2340 in all, $0.0042 per right answer [$0.0039, $0.0046]``.

    The text is empty if the price is unknown. If the accuracy's interval may not hold, that of the cost per
    right answer is marked with the same reason.
    """
    if model.usd is None:
        return ""
    total = f"${model.usd:.4f} in all"
    if model.usd_per_correct is None:
        return total
    each, low, high = model.usd_per_correct
    end = "∞" if high is None else f"${high:.3g}"
    why = model.usd_per_correct_why
    mark = f" (!) may not hold: {why}" if why else ""
    return f"{total}, ${each:.3g} per right answer [${low:.3g}, {end}]{mark}"


def group_reasons(undefined: Mapping[str, str]) -> dict[str, str]:
    """Group withheld results by reason; the keys are the names of the results, joined by commas."""
    about = dict[str, list[str]]()
    for name, why in undefined.items():
        about.setdefault(why, []).append(name)
    return {", ".join(names): why for why, names in about.items()}


def quality_to_json(quality: Sequence[ExpertQuality]) -> list[dict[str, Any]]:
    """Return counts, rates and intervals of every expert as JSON, both as numbers and as texts."""
    return [{**asdict(one), "words": quality_words(one)} for one in quality]


def quality_words(one: ExpertQuality) -> dict[str, str]:
    """Return an expert's results as texts, by the names of `QUALITY_TITLES`."""
    rates = {name: getattr(one, name) for name in ("sensitivity", "specificity", "steadiness", "agreement")}
    return {
        "name": one.name,
        "answered": f"{one.answered}/{one.asked}",
        **{name: _rate_text(rate) for name, rate in rates.items()},
        "drift": _change_text(one.drift),
    }


def quality_table(quality: Sequence[ExpertQuality]) -> Table:
    """Return a table with one row per expert; columns without any value are left out."""
    from rich.table import Table

    rows = [quality_words(one) for one in quality]
    shown = [name for name in QUALITY_TITLES if any(row[name] for row in rows)]
    table = Table(
        *(QUALITY_TITLES[name] for name in shown), title="Expert reliability, measured with control questions"
    )
    for row in rows:
        table.add_row(*(row[name] for name in shown))
    return table


def quality_lines(quality: Sequence[ExpertQuality]) -> list[str]:
    """Return one line with the results of all experts together; empty without control questions."""
    if not quality:
        return []
    words = quality_words(quality[-1])
    told = [f"{QUALITY_TITLES[name]} {text}" for name, text in words.items() if name != "name" and text]
    return [f"{words['name']}, control questions: {', '.join(told)}; each: oversight experts quality"]


def _rate_text(rate: Rate | None) -> str:
    return (
        "" if rate is None else f"{rate.successes}/{rate.of} [{100 * rate.low:.0f}–{100 * rate.high:.0f} %]"
    )


def _change_text(change: RateChange | None) -> str:
    if change is None:
        return ""
    return f"{100 * change.value:+.0f} [{100 * change.low:+.0f}, {100 * change.high:+.0f}] points"


def agreement_to_json(report: AgreementReport) -> dict[str, Any]:
    """Return every coefficient as JSON, and for α also its notes and whether its interval is valid."""
    found: dict[str, Any] = _add_holds(to_json(report))
    if report.alpha is not None:
        found["alpha"]["notes"] = [str(note) for note in report.alpha.notes]
    return found


def certificate_to_json(found: Superhuman, growth: Sequence[GrowthPoint]) -> dict[str, Any]:
    """Return as JSON a certificate's bounds, scores and verdict, and the bounds in `growth`."""
    told: dict[str, Any] = to_json(found) | {
        "verdict": found.verdict,
        "holds": found.holds,
        "why": found.why,
        "conditional_on": [c.assumed for c in found.conditions],
        "growth": [to_json(point) for point in growth],
        "notes": [str(note) for note in found.notes],
    }
    if found.check is not None:
        told["check"] |= {
            "first_holds": found.check.first_holds,
            "second_holds": found.check.second_holds,
            "overstated": found.check.overstated(found.level),
        }
    return told


def parity_to_json(found: Parity, level: HumanLevel | None) -> dict[str, Any]:
    """Return as JSON the results of human and model, in total and per bin, and the human-level indices.

    Every interval has ``holds``, and a reason ``why`` if it may not be valid. ``undefined`` contains a reason
    for each value that is None. Without `level`, ``human_level`` is None.
    """
    told: dict[str, Any] = _add_holds(to_json(found)) | {"human_level": to_json(level)}
    for shown, b in zip((told["overall"], *told["bins"]), (found.overall, *found.bins), strict=True):
        shown["notes"] = [*map(str, b.notes), *b.doubts]
    if level is not None:
        told["human_level"]["notes"] = [str(note) for note in level.notes]
    return told


def _add_holds(value: Any) -> Any:
    """Add a field ``holds`` to every interval, however deeply nested: true if its field ``why`` is empty."""
    if isinstance(value, list):
        return [_add_holds(one) for one in value]
    if not isinstance(value, dict):
        return value
    told = {name: _add_holds(one) for name, one in value.items()}
    return told | {"holds": not told["why"]} if {"low", "high", "why"} <= told.keys() else told


def to_json(value: Any) -> Any:
    """Convert dataclasses to dictionaries, arrays to lists, and nan to None."""
    option = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS
    return orjson.loads(orjson.dumps(value, option=option, default=plain_fields))


def estimate_to_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate as JSON, with the value as ``estimate``, and the notes as flags and as texts."""
    fields = plain_fields(estimate) | {"n": asdict(estimate.n)}
    notes = [str(note) for note in estimate.all_notes]
    return {"estimate": fields.pop("value"), **fields, "holds": estimate.holds, "notes": notes}


def accuracy_to_json(estimates: Mapping[str, Estimate]) -> dict[str, Any] | None:
    """Return a model's main estimate (see `main_name`) as JSON, or None."""
    name = main_name(estimates)
    if not name:
        return None
    accuracy = estimates[name]
    return {
        "estimate": accuracy.value,
        "low": accuracy.low,
        "high": accuracy.high,
        "level": accuracy.level,
        "estimator": name,
        "method": accuracy.interval,
        "holds": accuracy.holds,
        "why": accuracy.why,
    }


def study_to_json(report: StudyReport) -> dict[str, Any]:
    """Return the object that ``oversight estimate --json`` prints."""
    return {
        "study": report.name,
        "protocol": report.protocol,
        "questions": {"drawn": report.n_questions, "answered": report.n_answers},
        **pool_to_json(report.pool),
        "models": {model.name: model_to_json(model) for model in report.models},
        "left_out": report.left_out,
        **({"quality": quality_to_json(report.quality)} if report.quality else {}),
    }


def pool_to_json(pool: tuple[int, int] | None) -> dict[str, Any]:
    """Return as JSON how many items were drawn from the pool, and the pool's size; empty without a pool."""
    return {"items_drawn": {"drawn": pool[0], "of": pool[1]}} if pool else {}


def model_to_json(model: ModelReport) -> dict[str, Any]:
    """Return one model's estimates, counts, checks and costs as JSON, and results by class if requested."""
    by_class = {} if model.classes is None else {"classes": _classes_to_json(model.classes)}
    return by_class | {
        "run": model.run_id,
        "items": asdict(model.items),
        "accuracy": accuracy_to_json(model.estimates),
        "estimates": {name: estimate_to_json(e) for name, e in model.estimates.items()},
        "undefined": model.undefined,
        "checks": [{**asdict(check), "state": check.state} for check in model.checks],
        **({"fewer_samples": model.fewer} if model.fewer else {}),
        **({"read_by": dict(model.steps)} if model.steps else {}),
        "truth": model.truth,
        "usd": model.usd,
        "usd_per_correct": model.usd_per_correct,
        **({"usd_per_correct_why": model.usd_per_correct_why} if model.usd_per_correct_why else {}),
    }


def _classes_to_json(classes: ClassEstimates) -> dict[str, Any]:
    return {
        "estimates": {name: estimate_to_json(e) for name, e in classes.items()},
        "undefined": dict(classes.undefined),
    }


def differences_to_json(found: ClassComparison) -> dict[str, Any]:
    """Return what ``oversight compare --metrics … --json`` prints: every metric for every pair of models."""
    return {
        "results": {name: [_pair_to_json(c) for c in pairs] for name, pairs in found.results.items()},
        "undefined": dict(found.undefined),
        "left_out": found.left_out,
    }


def _pair_to_json(c: Comparison) -> dict[str, Any]:
    notes = [str(note) for note in c.notes]
    return {**plain_fields(c), "verdict": c.verdict, "holds": c.holds, "notes": notes}


def comparison_to_json(made: StudyComparison) -> dict[str, Any]:
    """Return the object that ``oversight compare --json`` prints."""
    found, payload = made.found, dict[str, Any]()
    if (ranking := found.ranking) is not None:
        rows = zip(ranking.names, ranking.values, ranking.ranks, strict=True)
        payload["ranking"] = [
            {"model": name, "accuracy": value, "ranks": [best, worst]} for name, value, (best, worst) in rows
        ]
    payload["comparisons"] = [_pair_to_json(c) for c in found.pairs]
    if ranking is not None:
        payload["level"] = ranking.level
    if made.remark:
        payload["remark"] = made.remark
    payload |= pool_to_json(made.pool)
    return payload | {"items": made.items, "questions": made.questions, "left_out": made.left_out}


def gather_cautions(pairs: Sequence[Comparison]) -> list[str]:
    """Return the reasons why intervals may not be valid, each with the pairs of models that it affects."""
    return _gather(pairs, lambda c: [] if c.holds else [f"(!) the interval may not hold: {c.why}"])


def gather_notes(pairs: Sequence[Comparison]) -> list[str]:
    """Return the notes on comparisons of models, each note with the pairs of models to which it applies."""
    return _gather(pairs, lambda c: map(str, c.notes))


def _gather(pairs: Sequence[Comparison], tell: Callable[[Comparison], Iterable[str]]) -> list[str]:
    about: dict[str, list[str]] = {}
    for c in pairs:
        for note in tell(c):
            about.setdefault(note, []).append(f"{c.first} − {c.second}")
    return [f"{_name_pairs(who, len(pairs))}: {note}" for note, who in about.items()]


def _name_pairs(who: Sequence[str], of: int) -> str:
    return "all pairs" if len(who) == of > 1 else ", ".join(who)
