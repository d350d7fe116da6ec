"""Ask a model of the study for the probability that each criterion is met, or that each claim is true.

The probabilities influence which questions are drawn, and make intervals narrower as a control variate. They
never count as experts' replies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from hashlib import sha256

from oversight.harness.config import Study
from oversight.harness.errors import BadInput, ModelError
from oversight.harness.llm import DEFAULT_TERMS, RunTerms, cut_thoughts
from oversight.harness.open_answers.answer_frame import JUDGE, Frame, ask_aside, name_side_run, show_answer
from oversight.harness.output import shorten
from oversight.harness.store import Store, StoredAnswer, StoredUnit
from oversight.harness.types import UNIT_PREFIX, Item

JUDGE_PROMPT = """\
$text

How likely is it that the right reply to this question is yes? Write a probability between 0 and 1, and \
nothing else.
"""
"""Template of the prompt that asks a model to judge a unit."""
_NUMBER = re.compile(r"(?<![\w.,-])(\d+(?:\.\d+)?|\.\d+)\s*(%?)(?![\w]|[.,]\d)")


def read_probability(reply: str) -> float:
    """Return the last number of a reply as a probability; NaN if there is none, or it exceeds 1.

    Examples
    --------
    >>> read_probability("0.85"), read_probability("Probability: 90 %.")
    (0.85, 0.9)
    >>> read_probability("likely"), read_probability("7 of 10")
    (nan, nan)
    """
    found = _NUMBER.findall(reply)
    if not found:
        return math.nan
    number, percent = found[-1]
    value = float(number) / (100 if percent else 1)
    return value if value <= 1 else math.nan


def ask_judge(
    study: Study,
    store: Store,
    frame: Frame,
    items: Mapping[str, Item],
    terms: RunTerms = DEFAULT_TERMS,
) -> None:
    """Ask the study's judge about every unit of every answer; do nothing if the judge is not a model.

    Equal units of equal answers to an item are asked about once, and stored replies are used again.

    Raises
    ------
    ModelError
        If a reply is missing, or no reply has a probability.
    """
    if study.open.judge not in study.models:
        return
    texts = {
        _name_question(answer, unit): "\n\n".join(show_answer(items[answer.item_id], answer, unit))
        for answer, unit in frame.pairs
    }
    replies = ask_aside(study, store, study.open.judge, JUDGE, JUDGE_PROMPT, texts, terms)
    if texts and all(math.isnan(read_probability(reply)) for reply in replies.values()):
        first = shorten(next(iter(replies.values())))
        raise ModelError(f"the judge {study.open.judge!r} gave no probability; its first reply is {first}")


def read_judge(study: Study, store: Store, frame: Frame) -> dict[tuple[str, str], float]:
    """Read the stored probabilities of the model that is the study's judge.

    Returns
    -------
    dict
        (Id of the answer, id of the unit) → probability that the unit is met; NaN if the reply has none.
        Units that the judge was not asked about are left out.

    Raises
    ------
    BadInput
        If the judge was not asked yet.
    """
    name = name_side_run(study.open.judge or "", JUDGE)
    runs = [run["id"] for run in store.runs.read_runs() if run["name"] == name]
    if not runs:
        raise BadInput(
            f"the judge {study.open.judge!r} was not asked yet; ask it with: oversight label route"
        )
    said = {p.item_id: read_probability(cut_thoughts(p.raw)) for p in store.runs.read_predictions(runs[-1])}
    return {
        (answer.id, unit.id): said[question]
        for answer, unit in frame.pairs
        if (question := _name_question(answer, unit)) in said
    }


def _name_question(answer: StoredAnswer, unit: StoredUnit) -> str:
    """Return a name for the question to the judge; equal units of equal answers to an item share a name."""
    told = "\x1f".join((answer.item_id, answer.text, unit.text))
    return f"{UNIT_PREFIX}judge-{sha256(told.encode()).hexdigest()[:16]}"
