"""Read runs of HELM: ``scenario_state.json``, and ``per_instance_stats.json`` in the same folder."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from oversight.harness.datasets.log_fields import (
    OWN_FILE,
    is_label,
    read_each,
    read_label,
    read_texts,
    read_whole,
    sort_by_label,
    strip_label,
)
from oversight.harness.datasets.row import Row, parse_json
from oversight.harness.errors import DataError
from oversight.harness.output import shorten
from oversight.harness.types import ForeignAnswer, PredictionStatus, find_listed_order

_STATS = "per_instance_stats.json"
_SEPARATE = "multiple_choice_separate"  # name prefix of methods that score each option in its own request
_Key = tuple[str, int]
"""Ids of an instance and a trial."""
_Chosen = Mapping[_Key, int]
"""(instance, trial) → index of the reference with the highest score."""


def read_helm(path: Path) -> Iterator[ForeignAnswer]:
    """Read the requests of a run; if a question was asked in several trials, each trial gives one answer.

    The options are those of ``output_mapping``, which says which option a label denotes. Without this field,
    HELM's references are the options; if all references are right answers, there are no options. Then letters
    denote the options that the prompt lists; if it lists none, replies with letters are unreadable. Perturbed
    copies of a question are left out. Only the first completion of a request is read. If each option was
    scored in a separate request (``request_mode`` "original" or "calibration"), the answer is
    ``predicted_index`` in the run's ``per_instance_stats.json``. Without that file, it is the option with the
    highest score, which is computed by HELM's formula from the log-probabilities of the option's tokens.

    Raises
    ------
    DataError
        If the file is not a HELM run, or the answers are in another file that does not exist.
    """
    whole = read_whole(path)
    if whole.find_field("request_states") is None:
        told = "the file has no such list; give the run's scenario_state.json"
        raise whole.error("request_states", f"must be list: {told}")
    states = whole.need("request_states", list)
    is_scored = any(isinstance(state, dict) and state.get("request_mode") for state in states)
    chosen = _find_chosen(path, whole, states) if is_scored else {}
    failed = set(chain.from_iterable(read_each(states, path, _list_failed))) if is_scored else set()
    return chain.from_iterable(read_each(states, path, partial(_read_state, chosen=chosen, failed=failed)))


def _list_failed(state: Row) -> list[_Key]:
    is_original = not state.find_field("instance.perturbation")
    return [_key_of(state)] if is_original and _failed(state) else []


def _key_of(state: Row) -> _Key:
    return state.need("instance.id", str), state.count("train_trial_index")


def _read_state(state: Row, *, chosen: _Chosen, failed: Collection[_Key]) -> list[ForeignAnswer]:
    name = state.need("instance.id", str)
    if state.find_field("instance.perturbation"):
        return [ForeignAnswer(state.line, name, left_out="perturbed copy")]
    if state.find_field("request_mode"):
        return _read_scored(state, name, chosen, failed)
    result = state.need("result", dict)
    completions = result.get("completions") or [{}]
    labels, options = _options(state)
    text = _question(state)
    prompt = state.text("request.prompt") or text
    order = None if labels else find_listed_order(options, prompt)
    completion = Row(state.file, state.line, completions[0])
    raw = completion.text("text")
    finish = completion.text("finish_reason.reason")
    found = ForeignAnswer(
        line=state.line,
        id=name,
        text=text,
        options=tuple(options[place] for place in order) if order else options,
        raw=raw,
        error=_failed(state),
        cut=finish == "length" and bool(raw) and not labels,
        sample=state.count("train_trial_index"),
        seconds=state.number("result.request_time") or 0.0,
        prompt=prompt,
        is_lettered=bool(labels or order),
    )
    if labels and not found.error:
        found = _read_labelled(found, labels)
    further = ForeignAnswer(state.line, name, left_out="further completion of a request")
    return [found, *[further] * (len(completions) - 1)]


def _question(state: Row) -> str:
    """Return the input's text; newer runs may store messages instead."""
    text = state.text("instance.input.text")
    messages = state.find_field("instance.input.messages")
    if text or not messages:
        return text
    is_plain = all(message["role"] != "assistant" for message in messages)
    turns = [message for message in messages if message["role"] != "system"]
    return "\n\n".join(
        str(turn["content"]) if is_plain else f"{turn['role']}: {turn['content']}" for turn in turns
    )


def _options(state: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels, and the options in the same order; no labels if ``output_mapping`` is missing."""
    mapping = state.find_field("output_mapping")
    if mapping:
        return sort_by_label(tuple(mapping), read_texts(state, "output_mapping", mapping.values()))
    references = state.find_field("instance.references") or ()
    if all("correct" in (reference.get("tags") or ()) for reference in references):
        return (), ()  # the references are alternative wordings of the right answer
    texts = (reference["output"]["text"] for reference in references)
    return (), read_texts(state, "instance.references", texts)


def _read_labelled(answer: ForeignAnswer, labels: tuple[str, ...]) -> ForeignAnswer:
    """Read the label that a completion names.

    A completion that contains more than a label is usually left to the parser of replies, which distinguishes
    letters from words more reliably. Such a completion is read here only if the labels are not A, B, … in
    this order, or if an option looks like a label.
    """
    are_letters = [strip_label(label) for label in labels] == [chr(ord("a") + j) for j in range(len(labels))]
    are_mixed_up = any(map(is_label, answer.options))
    place = read_label(answer.raw, labels, with_words=are_mixed_up or not are_letters)
    if place is not None:
        return answer._replace(answer=place)
    if answer.raw.strip() and (are_mixed_up or (not are_letters and is_label(answer.raw))):
        return answer._replace(status=PredictionStatus.UNREADABLE.value, error="none")
    return answer


def _find_chosen(path: Path, whole: Row, states: list[Any]) -> _Chosen:
    method = whole.text("adapter_spec.method") or _SEPARATE
    if not method.startswith(_SEPARATE):
        told = f"runs by {method} cannot be read, because they do not score options of a question; {OWN_FILE}"
        raise whole.error("adapter_spec.method", told)
    stats = path.with_name(_STATS)
    if not stats.is_file():
        return _compute_chosen(path, states)
    records = parse_json(stats.read_bytes(), stats)
    if not isinstance(records, list):
        raise DataError(f"must be a list, is {shorten(records)}", file=stats)
    return dict(chain.from_iterable(read_each(records, stats, _read_predicted)))


def _compute_chosen(path: Path, states: list[Any]) -> _Chosen:
    """Return (instance, trial) → index of the option with the highest score.

    Trials in which the request of an option is missing are left out.
    """
    given = (state.get("request_mode") for state in states if isinstance(state, dict))
    modes = set(filter(None, given))
    scores: dict[_Key, dict[tuple[str, int], float]] = {}
    numbers: dict[_Key, int] = {}
    read = partial(_read_score, is_calibrated="calibration" in modes)
    for key, request, score, number in chain.from_iterable(read_each(states, path, read)):
        scores.setdefault(key, {})[request] = score
        numbers[key] = number
    chosen: dict[_Key, int] = {}
    for key, found in scores.items():
        if len(found) == numbers[key] * len(modes):
            totals = [sum(found[mode, j] for mode in modes) for j in range(numbers[key])]
            chosen[key] = totals.index(max(totals))
    return chosen


def _read_score(state: Row, *, is_calibrated: bool) -> list[tuple[_Key, tuple[str, int], float, int]]:
    """Return what a request adds to the score of one option; empty if the request scores no option.

    An option's score is the mean log-probability of its tokens. If the run is calibrated, the score is the
    sum of these log-probabilities, minus the sum from another request that leaves out the question. The
    number of options is the last value.
    """
    if not state.find_field("request_mode") or state.find_field("instance.perturbation") or _failed(state):
        return []
    index, references = state.count("reference_index"), state.need("instance.references", list)
    option = references[index]["output"]["text"].strip()
    spelled, total, n = "", 0.0, 0
    for token in reversed((state.need("result.completions", list) or [{}])[0].get("tokens") or []):
        spelled, total, n = token["text"] + spelled, total + float(token["logprob"]), n + 1
        if len(spelled.strip()) >= len(option):
            break
    if not n or spelled.strip() != option or not math.isfinite(total):
        told = f"the tokens do not spell the option {shorten(option)}, which was scored in a separate request"
        told += f"; put the run's {_STATS} beside this file, or {OWN_FILE}"
        raise state.error("result.completions", told)
    score = total if is_calibrated else total / n
    mode = state.need("request_mode", str)
    request = (mode, index)
    return [(_key_of(state), request, -score if mode == "calibration" else score, len(references))]


def _failed(state: Row) -> str:
    """Return the reason why a request failed; empty if it succeeded."""
    return "" if state.need("result", dict).get("success", True) else state.text("result.error") or "failed"


def _read_predicted(record: Row) -> list[tuple[_Key, int]]:
    if record.find_field("perturbation"):
        return []
    key = (record.need("instance_id", str), record.count("train_trial_index"))
    stats = [Row(record.file, record.line, stat) for stat in record.need("stats", list)]
    return [(key, stat.count("mean")) for stat in stats if stat.find_field("name.name") == "predicted_index"]


def _read_scored(state: Row, name: str, chosen: _Chosen, failed: Collection[_Key]) -> list[ForeignAnswer]:
    """Return an item's answer if this request is the first that scores one of the item's options.

    Return an empty list for the item's later requests, so that the item has only one answer.
    """
    if state.find_field("request_mode") != "original" or state.count("reference_index"):
        return []
    key = _key_of(state)
    texts: Any = (reference["output"]["text"] for reference in state.need("instance.references", list))
    found = ForeignAnswer(
        line=state.line,
        id=name,
        text=_question(state),
        options=read_texts(state, "instance.references", texts),
        sample=key[1],
    )
    if key in failed:
        return [found._replace(error="the request of an option failed")]
    place = chosen.get(key)
    if place is None or place >= len(found.options):
        told = f"{_STATS} needs the index of an option as predicted_index of {name!r} in trial {key[1]}"
        told += "; without this file, every option needs its request"
        raise state.error("instance.id", told)
    return [found._replace(answer=place, raw=found.options[place])]
