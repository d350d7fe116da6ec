"""Read samples of lm-evaluation-harness (``samples_TASK_DATE.jsonl``, from ``--log_samples``)."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import contains
from pathlib import Path
from typing import Any

from oversight.harness.datasets.log_fields import (
    OWN_FILE,
    find_listed_options,
    place_labels,
    read_each,
    read_metadata,
    read_one,
    sort_by_label,
    strip_label,
)
from oversight.harness.datasets.row import Row, parse_json
from oversight.harness.datasets.rows import read_rows
from oversight.harness.output import shorten
from oversight.harness.types import ForeignAnswer, find_listed_order, fold_text

_INVALID = "[invalid]"  # written by lm-eval's filters if they find no answer
_QUESTIONS = (
    *("question", "Question", "QUESTION", "query", "question_stem", "qtext", "ex_question", "stem", "goal"),
    *("sentence", "input", "inputs", "startphrase", "sent1", "problem", "Problem", "ctx", "text", "prompt"),
    *("scenario", "hypothesis", "sentence2", "question2"),
)
"""Fields of a document that may contain its question; the first existing field is used."""
_CONTEXTS = (
    *("passage", "flores_passage", "support", "context", "Context", "contexts", "CONTEXTS", "narrative"),
    *("article", "story", "paragraph", "document", "text", "dialogue", "premise", "sentence1", "question1"),
    "sentence",
)
"""Fields with text that precedes the question, if the prompt shows it."""
_LISTS = (
    *("choices", "options", "endings", "mc1_targets.choices", "mc2_targets.choices", "candidates"),
    "multiple_choice_targets",
)
_NUMBERED = re.compile(
    r"(choice|option|opt|op|ending|mc_answer|answer|sol|candidate|alternative)[ _]?(\d{1,2}|[a-jA-J])|([A-J])"
)
"""Pattern of fields that contain one option each: ``option_a``, ``choice1``, ``opa``, ``A``."""
_Listed = tuple[Sequence[str], tuple[str, ...]]
"""Labels of options (empty if the options have none), and the options' texts."""
_TEXTS, _LABELS = ("text", "value", "atext", "content"), ("label", "key", "id", "aid")


def read_lm_eval(path: Path) -> Iterator[ForeignAnswer]:
    """Read samples of generation and multiple-choice tasks.

    The item's id is the document's ``id`` or, without one, its number. Only the first filter of a file, and
    only the first reply to each request, are read. For multiple choice, the answer is the continuation with
    the highest likelihood, and the confidence is this continuation's share of the total likelihood. If
    continuations are letters or numbers, they denote the options of the document. If the prompt lists the
    options, letters denote them in this order. If no known field contains the question, the prompt is the
    text.

    Raises
    ------
    DataError
        If a line lacks ``doc``, ``arguments`` or ``resps``, or its options are not found.
    """
    first_filter = None
    for row in _read_samples(path):
        name = row.find_field("filter")
        first_filter = first_filter or name
        if name == first_filter:
            yield from read_one(row, _read_sample)
        else:
            yield ForeignAnswer(row.line, "", left_out=f"answer of the filter {shorten(name)}")


def _read_samples(path: Path) -> Iterator[Row]:
    """Read the rows from JSON Lines, or from one JSON list, which the oldest versions wrote."""
    with path.open("rb") as stream:
        start = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        records = parse_json(path.read_bytes(), path)
        return read_each(records, path, lambda row: row)
    return read_rows(path)


def _read_sample(row: Row) -> list[ForeignAnswer]:
    document = row.need("doc", dict)
    name = row.text("doc.id") or str(row.need("doc_id", int))
    requests = _read_requests(row)
    prompt = _read_prompt(requests[0][0] if requests and requests[0] else "")
    text = _read_question(document, prompt)
    gap = (
        ""
        if text
        else f"doc has no known field with the question; its fields are {_names(document)}; {OWN_FILE}"
    )
    if requests and len(requests[0]) > 1 and isinstance(requests[0][1], str):
        return [_read_choice(row, requests, name, text, gap, prompt)]
    raw = row.need("resps", list)
    filtered = row.need("filtered_resps", list)
    written = raw[0] if raw and isinstance(raw[0], list) else raw
    if not all(isinstance(reply, str) for reply in written):
        raise row.error("resps", f"must contain texts, contains {shorten(written)}")
    said = filtered[0] if filtered else ""
    said = said[0] if isinstance(said, list) and said else said
    answer = None if not isinstance(said, str) or said == _INVALID else said
    labels, options = next(iter(_list_options(document)), ((), _find_listed(row, text or prompt)))
    if shown := _order_as_shown(options, prompt):
        labels, options = (), shown
    found = ForeignAnswer(
        line=row.line,
        id=name,
        text=text or prompt,
        options=options,
        answer=_place_answer(answer, labels, len(options)),
        raw=written[0] if written else "",
        gap=gap,
        prompt=prompt,
        meta=_read_metadata(document),
    )
    further = ForeignAnswer(row.line, name, left_out="further reply to a request")
    return [found, *[further] * (len(written) - 1)]


def _read_requests(row: Row) -> list[list[Any]]:
    """Return the arguments of every request, in order; older files list the arguments without names."""
    given = row.need("arguments", (dict, list))
    if isinstance(given, dict):  # a program may have sorted gen_args_10 before gen_args_2
        given = [given[name] for name in sorted(given, key=lambda name: (len(name), name))]
    return [list(each.values()) if isinstance(each, dict) else list(each) for each in given]


def _read_prompt(given: Any) -> str:
    """Return the text of a prompt, which may be a chat in JSON."""
    text = given[0] if isinstance(given, list) and given else given
    if isinstance(text, str) and text.startswith('[{"'):
        try:
            text = "\n\n".join(str(message["content"]) for message in json.loads(text))
        except (ValueError, LookupError, TypeError):
            return str(text)
    return text if isinstance(text, str) else ""


def _read_choice(
    row: Row, requests: list[list[Any]], name: str, text: str, gap: str, prompt: str
) -> ForeignAnswer:
    """Read a sample with scored continuations."""
    scores = row.need("filtered_resps", list)
    said = [str(request[1]) for request in requests]
    half = len(said) // 2
    if half > 1 and said[:half] == said[half:] and not any(_read_prompt(r[0]) for r in requests[half:]):
        # The second half repeats the continuations without the question (for mutual information); drop it.
        said, scores = said[:half], scores[:half]
    if len(said) < 2:
        told = "there is only one continuation, so no option was chosen; such tasks cannot be read"
        raise row.error("arguments", told)
    best, share = _choose(row, scores, len(said))
    document, said = row.need("doc", dict), [each.strip() for each in said]
    letters = None if said[0].isdecimal() else place_labels(said)
    listed = (_order_as_shown(texts, prompt) for _, texts in _list_options(document) if letters)
    shown = next((options for options in listed if len(options) == len(said)), None)
    places, options = (letters, shown) if letters and shown else _match_options(row, said, text, prompt)
    meta = _read_metadata(document)
    return ForeignAnswer(
        row.line, name, text or prompt, options, places[best], confidence=share, gap=gap, meta=meta
    )


def _read_metadata(document: dict[str, Any]) -> dict[str, str | float]:
    """Return the fields of a document that are neither its question nor its options."""
    without = {"id", *_QUESTIONS, *_CONTEXTS, *_LISTS, *filter(_NUMBERED.fullmatch, document)}
    return read_metadata(document, without)


def _choose(row: Row, responses: Sequence[Any], k: int) -> tuple[int, float]:
    """Return the likeliest of k continuations, and its share of the total likelihood."""
    field = "filtered_resps"
    try:
        scores = [float(pair[0]) for pair in responses]
    except (TypeError, ValueError, LookupError, OverflowError):
        raise row.error(field, "must be log-likelihoods") from None
    if len(scores) != k:
        raise row.error(field, f"{len(scores)} log-likelihoods for {k} continuations")
    best = max(range(k), key=scores.__getitem__)
    if not math.isfinite(scores[best]) or any(map(math.isnan, scores)):
        raise row.error(field, f"must be log-likelihoods, is {shorten(scores)}")
    return best, 1 / sum(math.exp(score - scores[best]) for score in scores)


def _match_options(
    row: Row, said: list[str], text: str, prompt: str
) -> tuple[Sequence[int], tuple[str, ...]]:
    """Return, for each continuation, the position of the option that it denotes, and the options.

    A continuation need not be an option's text. It can be an option's label, or contain an option and other
    text. If continuations are equal, because only the prompts differ, continuation j denotes option j of the
    document.
    """
    document, k = row.need("doc", dict), len(said)
    folded = list(map(fold_text, said))
    listed = _list_options(document)
    same = [texts for _, texts in listed if list(map(fold_text, texts)) == folded]
    if same and (same[0] == listed[0][1] or not place_labels(said)):
        return range(k), tuple(said)
    for labels, texts in listed:
        names = [strip_label(label) for label in labels]
        if len(texts) == k and set(names) == {strip_label(each) for each in said} and len(set(names)) == k:
            return [names.index(strip_label(each)) for each in said], texts
    fitting = [texts for _, texts in listed if len(texts) == k]
    places, is_distinct = place_labels(said), len(set(folded)) == k
    is_foreign_letter = is_distinct and all(len(strip_label(each)) == 1 for each in said)
    if fitting and (places or is_foreign_letter or not is_distinct):
        return places or range(k), fitting[0]
    if places:
        labels = [said[j] for j in sorted(range(k), key=places.__getitem__)]
        if options := find_listed_options(text, labels) or find_listed_options(prompt, labels):
            return places, options
    if not is_distinct or (places and not said[0].isdecimal()):
        told = f"the continuations are {shorten(said)}, and doc does not contain the options that they denote"
        raise row.error("doc", f"{told}; its fields are {_names(document)}; {OWN_FILE}")
    for texts in fitting:
        if not place_labels(texts) and all(map(contains, folded, map(fold_text, texts))):
            return range(k), texts
    return range(k), tuple(said)


def _order_as_shown(options: Sequence[str], prompt: str) -> tuple[str, ...]:
    """Return the options in the order in which the prompt lists them; empty if it does not list all."""
    return tuple(options[place] for place in find_listed_order(options, prompt) or ())


def _list_options(document: dict[str, Any]) -> list[_Listed]:
    """Return every list of options in a document, with the options' labels.

    Lists whose texts look like labels themselves ("A", "B") come last.
    """
    return sorted(_iterate_options(document), key=lambda listed: place_labels(listed[1]) is not None)


def _iterate_options(document: dict[str, Any]) -> Iterator[_Listed]:
    row = Row("", 0, document)
    question = document.get("question")
    nested = question.get("choices") if isinstance(question, dict) else None
    answers = [a for a in document.get("answers") or () if isinstance(a, dict) and "atext" in a]
    for value in chain(map(row.find_field, _LISTS), [nested, answers]):
        labels, texts = _read_list(value)
        if len(texts) > 1:
            yield sort_by_label(labels, texts)
    series: dict[str, list[tuple[str, Any]]] = {}
    for field, value in document.items():
        if match := _NUMBERED.fullmatch(field):
            series.setdefault(match[1] or "", []).append((match[2] or match[3], value))
    for given in series.values():
        filled = [(label, str(value).strip()) for label, value in given if value not in (None, "")]
        labels = [label for label, _ in filled]
        if len(filled) > 1 and place_labels(labels):
            yield sort_by_label(labels, tuple(text for _, text in filled))


def _read_list(value: Any) -> _Listed:
    """Return the labels and texts of a stored list of options, which may be a Python list written as text."""
    if isinstance(value, str) and value.strip().startswith(("[", "{")):
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return (), ()
    if isinstance(value, dict):
        texts = next((value[name] for name in _TEXTS if isinstance(value.get(name), list)), None)
        if texts is None:  # the dictionary maps labels to texts
            return list(map(str, value)), _read_texts(value.values())
        labels = value.get("label")
        return (list(map(str, labels)) if isinstance(labels, list) else ()), _read_texts(texts)
    if not isinstance(value, list):
        return (), ()
    if value and all(isinstance(each, dict) for each in value):
        texts = [next((each[name] for name in _TEXTS if name in each), None) for each in value]
        labels = [next((each[name] for name in _LABELS if name in each), "") for each in value]
        return list(map(str, labels)), _read_texts(texts)
    return (), _read_texts(value)


def _read_texts(values: Iterable[Any]) -> tuple[str, ...]:
    found = tuple(values)
    is_plain = all(isinstance(value, str | int | float) for value in found)
    return tuple(str(value).strip() for value in found) if is_plain else ()


def _find_listed(row: Row, text: str) -> tuple[str, ...]:
    """Return the options that a question lists.

    Returns an empty tuple if the right answer is not the letter of a listed option.
    """
    target = strip_label(str(row.find_field("target")))
    if len(target) != 1 or not "a" <= target <= "j":
        return ()
    letters = "ABCDEFGHIJ"
    found = (find_listed_options(text, letters[:k]) for k in range(10, max(1, ord(target) - ord("a")), -1))
    return next(filter(None, found), ())


def _place_answer(answer: str | None, labels: Sequence[str], k: int) -> str | int | None:
    """Return the position (0 to k − 1) of the option that an answer names by its label or letter.

    An answer that is neither a label nor a letter is returned unchanged.
    """
    bare = "" if answer is None else strip_label(answer)
    names = [strip_label(label) for label in labels]
    if names.count(bare) == 1 and len(names) == k:
        return names.index(bare)
    place = ord(bare) - ord("a") if len(bare) == 1 else k
    return place if 0 <= place < k else answer


def _read_question(document: dict[str, Any], prompt: str) -> str:
    """Return a document's context followed by its question; empty if no known field contains a question."""
    question = next((found for name in _QUESTIONS if (found := _read_text(document.get(name)))), "")
    shown = fold_text(prompt)
    contexts = [_read_text(document.get(name)) for name in _CONTEXTS] if question else []
    before = [text for text in contexts if text and (not shown or fold_text(text).rstrip(".")[:60] in shown)]
    before = [text for text in dict.fromkeys(before) if fold_text(text) not in fold_text(question)]
    return "\n\n".join([*before, question])


def _read_text(value: Any) -> str:
    if isinstance(value, dict):
        value = next((value[name] for name in ("stem", "text", "contexts") if name in value), "")
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _names(document: dict[str, Any]) -> str:
    return ", ".join(list(map(str, document))[:12])
