"""Data on all models of a study: their estimates as numbers and texts, their answers, and their runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from oversight.harness.analysis import ModelReport, StudyReport, compare_study, report_study
from oversight.harness.config import Study
from oversight.harness.errors import OversightError, StoreError
from oversight.harness.estimate import ClassEstimates
from oversight.harness.output import redact
from oversight.harness.report import (
    check_lines,
    comparison_to_json,
    cost_text,
    estimate_to_json,
    gather_cautions,
    gather_notes,
    group_reasons,
    items_text,
    label_texts,
    model_to_json,
    questions_text,
    study_to_json,
)
from oversight.harness.store import Store
from oversight.harness.types import (
    Estimate,
    caution_text,
    estimator_name,
    interval_text,
    method_text,
    note_lines,
    reading_lines,
    value_text,
)


def read_overview(study: Study, store: Store) -> dict[str, Any]:
    """Return the output of ``oversight estimate --json``, plus texts for the page.

    If the estimation fails, the result has only the field ``why``, which gives the reason.
    """
    try:
        report = report_study(store, study)
    except StoreError:  # a database error may be temporary, so it is not returned as a reason
        raise
    except OversightError as error:
        return {"why": str(error)}
    return describe_report(report)


def describe_report(report: StudyReport) -> dict[str, Any]:
    """Return a report's estimates, counts and assumptions as JSON data for the page."""
    return {
        **study_to_json(report),
        "items": report.n_items,
        "asked": questions_text(report.n_answers, report.n_questions, report.pool),
        "models": [_describe_model(model) for model in report.models],
        "experts": [{**asdict(x), "yes_rate": x.yes_rate} for x in report.experts],
        "clusters": report.clusters,
        "options": [{"options": k, "items": n} for k, n in report.options.items()],
        "assumptions": report.assumptions,
        "versions": dict(report.versions),
        "created": report.created,
    }


def read_differences(study: Study, store: Store) -> dict[str, Any]:
    """Return the output of ``oversight compare --json``, plus warnings.

    If the comparison fails, the result has only the field ``why``, which gives the reason.
    """
    try:
        made = compare_study(study, store=store)
    except StoreError:  # a database error may be temporary, so it is not returned as a reason
        raise
    except OversightError as error:
        return {"why": str(error)}
    pairs = made.found.pairs
    return comparison_to_json(made) | {"cautions": [*gather_cautions(pairs), *gather_notes(pairs)]}


def _describe_model(model: ModelReport) -> dict[str, Any]:
    return {
        "name": model.name,
        **model_to_json(model),
        "unusable": model.unusable,
        "by_class": None if model.classes is None else _describe_classes(model.classes),
        "words": {name: _words(name, estimate) for name, estimate in model.estimates.items()},
        "items_text": items_text(model),
        "labels": label_texts(model),
        "reading": reading_lines(model.steps),
        "notes": note_lines(model.estimates, model.undefined),
        "check_lines": check_lines(model),
        "cost_text": cost_text(model),
        "unreadable": dict(model.unreadable),
        "failed": dict(model.failed),
        "refuted": model.refuted,
        "input_tokens": model.input_tokens,
        "output_tokens": model.output_tokens,
        "created": model.created,
        "spec": {
            key: redact(value) if isinstance(value, str) else value for key, value in model.spec.items()
        },
    }


def _describe_classes(classes: ClassEstimates) -> dict[str, Any]:
    rows = [{"name": name, **estimate_to_json(e), "words": _words(name, e)} for name, e in classes.items()]
    return {"rows": rows, "notes": note_lines(classes, group_reasons(classes.undefined))}


def _words(name: str, estimate: Estimate) -> dict[str, str]:
    """Return an estimate as the texts that the terminal shows, so that page and terminal agree."""
    return {
        "estimator": estimator_name(name),
        "value": value_text(estimate),
        "interval": interval_text(estimate),
        "method": method_text(estimate),
        "caution": caution_text(estimate),
    }
