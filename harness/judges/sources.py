"""Read the probabilities of a study's judges, and import them from a file.

The first available of three sources is used: the shares of the options among a judge's samples; a stored
vector of probabilities per item; the judge's confidence in the option that it names. A stored vector was
imported, stated in the judge's reply, or obtained from log-probabilities or a decision endpoint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oversight.harness.analysis import OpenStudy, find_newest_runs
from oversight.harness.config import RunSpec, Study
from oversight.harness.datasets import Row, read_rows
from oversight.harness.errors import BadInput, DataError
from oversight.harness.judges.probabilities import JudgeProbabilities, share_of_samples
from oversight.harness.output import counted, did_you_mean
from oversight.harness.store import Store, refuse_mark
from oversight.harness.types import Item, PredictionStatus

_SUM_SLACK = 0.02
"""Largest difference of an item's sum of probabilities from 1, because files contain rounded numbers."""


def read_judge(opened: OpenStudy, name: str) -> JudgeProbabilities:
    """Read the probabilities of a judge's newest run for all items.

    Raises
    ------
    BadInput
        If the judge was not run, has no answers yet, or its answers lack the requested log-probabilities.
    """
    run = find_newest_runs(opened.store, [name]).runs[0]
    answers = opened.store.runs.count_predictions(run["id"])
    if answers > len(opened.runs[name]):
        return _share_samples(opened, run["id"])
    judge = JudgeProbabilities.of_predictions(opened.runs[name], opened.n_options)
    vectors = opened.store.runs.read_vectors(run["id"])
    for place, vector in zip(opened.index.find_places(vectors).tolist(), vectors.values(), strict=True):
        judge.p[place, : len(vector)] = vector
    if vectors:
        return replace(judge, stated=True)
    section = opened.study.models.get(name)
    if section is not None and section.logprobs and not judge.stated:
        raise BadInput(
            f"the judge {name!r} has logprobs = true, but its answers came without log-probabilities; use "
            f"samples = 5 under [models.{name}], or logprobs = false"
        )
    return judge


def _share_samples(opened: OpenStudy, run_id: str) -> JudgeProbabilities:
    named: list[list[int]] = [[] for _ in range(opened.index.size)]
    found = list(opened.store.runs.read_samples(run_id))
    places = opened.index.find_places(prediction.item_id for prediction in found)
    for place, prediction in zip(places.tolist(), found, strict=True):
        named[place].append(-1 if prediction.option is None else prediction.option)
    return share_of_samples(named, opened.n_options)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedJudge:
    """Result of importing a judge's probabilities.

    Attributes
    ----------
    name, run
        Name of the judge, and id of its run.
    items
        Number of items with probabilities.
    missing
        Number of items of the study without probabilities.
    """

    name: str
    run: str
    items: int
    missing: int


def import_probabilities(study: Study, file: str, name: str) -> ImportedJudge:
    """Store a file of probabilities as a judge's answers; after an error, nothing is stored.

    CSV and Parquet files have the column ``item`` and one column per option, named by the classes that all
    items share, or ``p1``, ``p2``, … in the order of each item's options. JSON Lines files can instead have a
    field ``probabilities``: a list in this order, or an object from option to probability.

    Raises
    ------
    DataError
        If an item is unknown, an option is missing, or a value is not a probability; the message names file,
        line and field.

    Examples
    --------
    >>> import pandas as pd
    >>> from oversight.harness.analysis import study_items
    >>> from oversight.harness.config import read_study
    >>> study = read_study("study.toml")
    >>> frame = pd.DataFrame({"item": [item.id for item in study_items(study)]})
    >>> frame[["cardiology", "neurology", "nephrology", "dermatology"]] = [0.7, 0.1, 0.1, 0.1]
    >>> frame.to_csv("judge.csv", index=False)
    >>> import_probabilities(study, "judge.csv", "judge").items
    54
    """
    refuse_mark(study.store_url)
    with Store(study.store_url) as store:
        items = {item.id: item for item in store.content.read_items()}
        if not items:
            raise BadInput("the study has no items yet; see: oversight items check, or oversight label route")
        vectors = dict[str, tuple[float, ...]]()
        for row in read_rows(file):
            told = str(row.value("item"))
            if told not in items:
                raise row.error("item", f"the study has no item {told!r}{did_you_mean(told, items)}")
            if told in vectors:
                raise row.error("item", f"the item {told!r} occurs twice")
            vectors[told] = _read_vector(row, items[told])
        if not vectors:
            raise DataError("the file contains no rows", file=file)
        digest = hashlib.sha256(json.dumps(vectors).encode()).hexdigest()[:12]
        run = store_judge(store, name, "import probabilities", f"{Path(file).name} {digest}", vectors)
    return ImportedJudge(name=name, run=run, items=len(vectors), missing=len(items) - len(vectors))


def store_judge(
    store: Store, name: str, endpoint: str, template: str, vectors: Mapping[str, Sequence[float]]
) -> str:
    """Store a judge's probabilities, and each item's most likely option, as a run. Returns the run's id."""
    spec = RunSpec(
        name=name,
        model=name,
        endpoint=endpoint,
        temperature=None,
        max_tokens=None,
        stop=(),
        template=template,
        max_words=None,
    )
    rows = []
    for item, vector in vectors.items():
        best = int(np.argmax(vector))
        total = sum(vector)
        sure = vector[best] / total if total > 0 else 1 / len(vector)
        text = json.dumps([round(p, 6) for p in vector])
        rows.append((item, best, PredictionStatus.OK.value, "", 0, text, 0, 0, 0.0, sure, ""))
    with store.together(exclusive=True):
        store.runs.add_run(spec)
        if rows:
            store.runs.store_imported(spec.id, rows)
        store.runs.store_vectors(spec.id, vectors)
    return spec.id


def _read_vector(row: Row, item: Item) -> tuple[float, ...]:
    """Return the probabilities of one row, in the order of the item's options."""
    told = row.fields.get("probabilities")
    if isinstance(told, list):
        if len(told) != len(item.options):
            expected = f"{counted(len(item.options), 'option')} need as many numbers"
            raise row.error("probabilities", f"{expected}, there are {len(told)}")
        named = {f"p{j}": value for j, value in enumerate(told, start=1)}
    elif isinstance(told, dict):
        named = told
    elif told is None:
        named = {key: value for key, value in row.fields.items() if key != "item"}
    else:
        raise row.error("probabilities", "must be a list or an object of numbers")
    by_option = item.options[0] in named
    keys = item.options if by_option else [f"p{j}" for j in range(1, len(item.options) + 1)]
    vector = tuple(_probability(row, named, key) for key in keys)
    if abs(sum(vector) - 1) > _SUM_SLACK:
        raise row.error("item", f"the probabilities of an item must sum to 1, but sum to {sum(vector):.4g}")
    return vector


def _probability(row: Row, named: Mapping[str, Any], key: str) -> float:
    if key not in named or named[key] in (None, ""):
        raise row.error(key, "there is no probability of this option")
    try:
        value = float(named[key])
    except (TypeError, ValueError):
        raise row.error(key, f"{named[key]!r} is no number") from None
    if isinstance(named[key], bool) or not 0 <= value <= 1:
        raise row.error(key, f"a probability must lie between 0 and 1, is {named[key]!r}")
    return value
