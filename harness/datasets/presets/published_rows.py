"""Rows of public benchmarks, in the columns that their authors publish, become fields of items.

A row that is none of the benchmark's is refused by the name of the column that is wrong. The answer is used
only as a sealed key, for simulated experts and for checking estimates against the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oversight.harness.datasets.row import Row
from oversight.harness.output import shorten
from oversight.harness.seeding import derive_seed
from oversight.harness.types import fold_text

Fields = dict[str, Any]
Convert = Callable[[Row, int], Fields | str]
"""A row and the seed of what is drawn → ``{"text", "options", "answer"}``, the answer as the index of the
true option, and ``"id"`` where the source has one; or why the row is left out."""

LETTERS = "ABCDEFGHIJ"
MEDICAL_ABSTRACTS_CLASSES = (
    "neoplasms",
    "digestive system diseases",
    "nervous system diseases",
    "cardiovascular diseases",
    "general pathological conditions",
)
EDINET_INDUSTRIES = (
    "食品",
    "電気・ガス・エネルギー資源",
    "建設・資材",
    "素材・化学",
    "医薬品",
    "自動車・輸送機",
    "鉄鋼・非鉄",
    "機械",
    "電機・精密",
    "情報通信・サービスその他",
    "運輸・物流",
    "商社・卸売",
    "小売",
    "銀行",
    "金融（除く銀行）",
    "不動産",
)
"""The 33 industries of the Tokyo exchange in 17 sectors, with the two energy sectors as one."""


def medical_abstracts(row: Row, _seed: int) -> Fields:
    """Columns ``condition_label`` (1 to 5) and ``medical_abstract``; every item has the same five classes."""
    answer = row.count("condition_label") - 1 if row.value("condition_label") is not None else -1
    if not 0 <= answer < len(MEDICAL_ABSTRACTS_CLASSES):
        raise row.error("condition_label", f"must be 1 to 5, is {shorten(row.value('condition_label'))}")
    return {"text": _text(row, "medical_abstract"), "answer": answer}


def mmlu_pro(row: Row, _seed: int) -> Fields | str:
    """``question_id, question, options`` (a list), ``answer`` (a letter), ``category``.

    As in the paper, questions that have not ten options are left out, so that K is the same for all.
    """
    options = row.value("options")
    if not isinstance(options, list):
        raise row.error("options", f"must be a list of options, is {shorten(options)}")
    answer = _place(row, "answer", LETTERS[: len(options)])
    text, name = _text(row, "question"), f"mmlu-pro-{row.value('question_id')}"
    if len(options) != 10:
        return "not of ten options"
    fields = {"id": name, "text": text, "options": _filled(row, options), "answer": answer}
    return fields | {"category": _text(row, "category")}


def medqa(row: Row, _seed: int) -> Fields:
    """``question, options`` (by letter) and ``answer_idx`` (or ``answer``, where that is the letter)."""
    options = row.value("options")
    if isinstance(options, str):
        try:
            options = json.loads(options)
        except ValueError:
            options = None
    if not isinstance(options, dict):
        raise row.error("options", f"must be options by letter, is {shorten(row.value('options'))}")
    letters = "".join(sorted(options))
    answer = _place(row, "answer_idx" if "answer_idx" in row.fields else "answer", letters)
    filled = _filled(row, [options[letter] for letter in letters])
    return {"text": _text(row, "question"), "options": filled, "answer": answer}


def gpqa(row: Row, _seed: int) -> Fields:
    """``Question, Correct Answer, Incorrect Answer 1`` to ``3``, ``Record ID`` and ``High-level domain``."""
    wrong = [_text(row, f"Incorrect Answer {j}") for j in (1, 2, 3)]
    return {
        "id": _text(row, "Record ID"),
        "text": _text(row, "Question"),
        "options": [_text(row, "Correct Answer"), *wrong],
        "answer": 0,
        "High-level domain": _text(row, "High-level domain"),
    }


def math_mc(row: Row, seed: int) -> Fields | str:
    """MATH as multiple choice: the authors' candidate answers, or questions made of them.

    A row with ``question, candidates`` has the true answer first and other models' answers after it: four
    different ones are drawn with `seed` and the question as names of the draw, so that K is 5 as in the
    paper; a problem with fewer is left out. A row with ``Question, A, B, …, Answer`` (a letter) is a question
    that was made already, of as many options as it has letters.
    """
    if "candidates" in row.fields:
        return _draw_distractors(row, seed)
    letters = "".join(letter for letter in LETTERS if row.fields.get(letter) not in (None, ""))
    if len(letters) < 2:
        raise row.error("candidates", "there is no such column, nor are there options in columns A, B, C, …")
    return {
        "text": _text(row, "Question" if "Question" in row.fields else "question"),
        "options": [str(row.fields[letter]) for letter in letters],
        "answer": _place(row, "Answer" if "Answer" in row.fields else "answer", letters),
        "Type": row.text("Type"),
    }


DISTRACTORS = 4


def _draw_distractors(row: Row, seed: int) -> Fields | str:
    given = row.value("candidates")
    if not isinstance(given, list) or not given:
        raise row.error("candidates", f"must be a list, the true answer first, is {shorten(given)}")
    text = _text(row, "question")
    true, *others = ("" if candidate is None else str(candidate).strip() for candidate in given)
    if not true:
        raise row.error("candidates", "the first, which is the true answer, is empty")
    different = {fold_text(other): other for other in reversed(others) if other}
    different.pop(fold_text(true), None)
    pool = sorted(different.values())
    if len(pool) < DISTRACTORS:
        return "fewer than four distractors"
    rng = np.random.default_rng(derive_seed(seed, "distractors", text))
    drawn = [pool[j] for j in rng.choice(len(pool), DISTRACTORS, replace=False)]
    return {"text": text, "options": [true, *drawn], "answer": 0, "Type": row.text("Type")}


def edinet(row: Row, _seed: int) -> Fields:
    """``summary, bs, pl, cf`` (parts of a report) and ``industry``, one of sixteen."""
    industry = _text(row, "industry")
    if industry not in EDINET_INDUSTRIES:
        raise row.error("industry", f"{industry!r} is none of {', '.join(EDINET_INDUSTRIES)}")
    parts = [f"{name}: {part}" for name in ("summary", "bs", "pl", "cf") if (part := row.value(name))]
    if not parts:
        raise row.error("summary", "there is no part of a report: summary, bs, pl, cf are empty")
    return {"text": "\n".join(parts), "answer": EDINET_INDUSTRIES.index(industry)}


def _filled(row: Row, options: Sequence[Any]) -> list[Any]:
    """The options, none of which may be missing: the answer is told by its place among them."""
    if None in options:
        raise row.error("options", f"option {options.index(None) + 1} is empty")
    return list(options)


def _text(row: Row, column: str) -> str:
    value = row.value(column)
    if not isinstance(value, str) or not value.strip():
        raise row.error(column, f"must be text, is {shorten(value)}" if value else "is empty")
    return value


def _place(row: Row, column: str, letters: Sequence[str]) -> int:
    said = str(row.value(column)).strip()
    if len(said) != 1 or said not in letters:
        raise row.error(column, f"{shorten(said)} is none of {', '.join(letters)}")
    return letters.index(said)
