"""The sampling frame of questions: every model's answer to every item, and the units of each answer.

Models can help, by listing claims or judging units. Their replies are stored as separate runs, so that no
text is sent twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from oversight.harness.analysis import find_newest_runs, study_items, study_prices
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, ModelError
from oversight.harness.llm import (
    DEFAULT_TERMS,
    RequestedItems,
    RunTerms,
    Target,
    cut_thoughts,
    make_spec,
    run_alone,
)
from oversight.harness.open_answers.rubric_files import name_unit, read_rubrics
from oversight.harness.open_answers.units import UnitTable, object_column
from oversight.harness.output import make_storable
from oversight.harness.store import Store, StoredAnswer, StoredUnit
from oversight.harness.types import OPEN_ANSWER, UNIT_PREFIX, Item, PredictionStatus

CLAIMS, JUDGE = USES = ("claims", "judge")
"""Tasks of helping models."""


def name_side_run(model: str, use: str) -> str:
    """Return the name of the run that stores a model's replies for a task.

    Examples
    --------
    >>> name_side_run("small", CLAIMS)
    'small (claims)'
    """
    return f"{model} ({use})"


def ask_aside(
    study: Study,
    store: Store,
    model: str,
    use: str,
    prompt: str,
    texts: Mapping[str, str],
    terms: RunTerms = DEFAULT_TERMS,
) -> dict[str, str]:
    """Ask a model of the study about each text, except texts for which a reply is already stored.

    Parameters
    ----------
    use
        Task of the model, one of `USES`.
    prompt
        Template of the prompt, with ``$text`` for the text.
    texts
        Name → text. The name is stored as an item's id and must begin with `UNIT_PREFIX`.

    Returns
    -------
    dict
        Name → reply without the model's reasoning.

    Raises
    ------
    ModelError
        If the model did not reply about a text, or the token limit cut its list of claims. Its replies about
        other texts are stored.
    """
    settings = study.model(model).model_copy(update={"structured": "never"})
    items = [Item(name, text, (OPEN_ANSWER,), (0,)) for name, text in texts.items()]
    spec = make_spec(name_side_run(model, use), settings, prompt, None, answer="free")
    wanted = RequestedItems(store, store.content.add_items(items), retry_failed=True)
    [done] = run_alone(wanted, [Target(spec, settings)], prices=study_prices(study), terms=terms)
    if done.error is not None:
        raise done.error
    replies = {p.item_id: p for p in store.runs.read_predictions(done.target.spec.id)}
    for name in texts:
        if name not in replies or replies[name].status is PredictionStatus.FAILED:
            told = replies[name].reason if name in replies else "no reply"
            raise ModelError(f"{model} did not reply ({use}): {told}; try again")
        if use == CLAIMS and replies[name].status is PredictionStatus.TRUNCATED:
            told = f"set a larger max_tokens under [models.{model}]"
            raise ModelError(f"{model}: a list of claims was cut off at the token limit; {told}")
    return {name: cut_thoughts(replies[name].raw) for name in texts}


_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|ca|dr|mr|mrs|ms|prof|no|fig|st|inc|ltd|co)|\b[^\W\d_])\.$",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?…؟۔।])[\"')\]”’»]*\s+|(?<=[。！？｡])[”’」』）]*\s*")
_LETTER = re.compile(r"[^\W_]")
_LONGEST_ABBREVIATION = 12
"""Number of characters at a text's end that show whether it ends with an abbreviation."""
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_CLAIM = re.compile(r"^\s*(?:[-+*•–—]|\(?\d{1,3}[.)])\s+(\S.*)$")
CLAIMS_PROMPT = """\
List every claim that the text below makes. Write one claim per line, each line beginning with "- ". \
Each claim must be a short, complete sentence that can be understood without the text. Add nothing that \
the text does not say. If the text makes no claim, write only: none

$text
"""
"""Template of the prompt that asks a model to list the claims of an answer."""


def split_sentences(text: str) -> list[str]:
    r"""Split an answer into sentences; the end of a line or list item also ends a sentence.

    A new sentence must not begin with a lower-case letter.

    Examples
    --------
    >>> split_sentences("Take 5 mg, e.g. at night. Dr. Low agrees.\n- Avoid alcohol")
    ['Take 5 mg, e.g. at night.', 'Dr. Low agrees.', 'Avoid alcohol']
    """
    found = list[str]()
    for line in text.splitlines():
        rest, pieces = _BULLET.sub("", line).strip(), list[str]()
        for piece in _cut(rest):
            if pieces and _ABBREVIATION.search(pieces[-1][-_LONGEST_ABBREVIATION:]):
                pieces[-1] = f"{pieces[-1]} {piece}"
            else:
                pieces.append(piece)
        found += [piece.strip() for piece in pieces if any(c.isalnum() for c in piece)]
    return found


def _cut(line: str) -> list[str]:
    """Cut a line at ends of sentences that no lower-case letter follows."""
    places, following, stop = list[int](), "", len(line)
    ends = list(_END.finditer(line))
    for place in reversed(range(len(ends))):  # from the end, so that the time is linear in the length
        found = _LETTER.search(line, ends[place].end(), stop)
        following, stop = found[0] if found else following, ends[place].start()
        if not following.islower():
            places.append(place)
    kept = [ends[place] for place in reversed(places)]
    starts = [0, *(end.end() for end in kept)]
    stops = [*(end.start() for end in kept), len(line)]
    return [line[start:stop] for start, stop in zip(starts, stops, strict=True)]


def read_claims(reply: str) -> list[str]:
    r"""Return the distinct claims of a model's reply: its lines that begin with a bullet or a number.

    Examples
    --------
    >>> read_claims("Claims:\n- Aspirin thins blood.\n- It is safe for all.")
    ['Aspirin thins blood.', 'It is safe for all.']
    """
    lines = (_CLAIM.match(line) for line in reply.splitlines())
    return list(dict.fromkeys(found[1].strip() for found in lines if found))


NO_ANSWER = "(no answer was given)"
"""Text that experts see instead of an empty answer."""
WHOLE_ANSWER = "the whole answer"
"""Text of the only unit of an answer that is judged as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Sampling frame of questions.

    Attributes
    ----------
    answers, units
        All answers and units, as they are stored.

    Examples
    --------
    >>> Frame(answers=(), units=()).models
    ()
    """

    answers: Sequence[StoredAnswer]
    units: Sequence[StoredUnit]

    @property
    def table(self) -> UnitTable:
        """Every unit of every answer, in an order that depends only on the stored rows."""
        of_item, by_id = defaultdict[str, list[StoredAnswer]](list), {a.id: [a] for a in self.answers}
        for answer in self.answers:
            of_item[answer.item_id].append(answer)
        numbers = dict[tuple[str | None, ...], int]()
        rows = list[tuple[StoredAnswer, StoredUnit, int]]()
        for unit in self.units:
            for answer in by_id[unit.answer] if unit.answer else of_item[unit.item_id]:
                about = ("", unit.text, unit.field) if unit.answer else (unit.id, answer.text)
                number = numbers.setdefault((unit.item_id, *about), len(numbers))
                rows.append((answer, unit, number))
        return UnitTable(
            item=object_column(answer.item_id for answer, _, _ in rows),
            model=object_column(answer.model for answer, _, _ in rows),
            answer=object_column(answer.id for answer, _, _ in rows),
            unit=object_column(unit.id for _, unit, _ in rows),
            points=np.array([unit.points for _, unit, _ in rows], dtype=np.float64),
            field=object_column(unit.field for _, unit, _ in rows),
            question=np.array([number for _, _, number in rows], dtype=np.int64),
        )

    @property
    def pairs(self) -> Iterator[tuple[StoredAnswer, StoredUnit]]:
        """Yield each answer with each of its units, as pairs."""
        of_item, of_answer = (defaultdict[str, list[StoredUnit]](list) for _ in range(2))
        for unit in self.units:
            (of_answer[unit.answer] if unit.answer else of_item[unit.item_id]).append(unit)
        for answer in self.answers:
            for unit in (*of_item[answer.item_id], *of_answer[answer.id]):
                yield answer, unit

    @property
    def models(self) -> tuple[str, ...]:
        """Models with answers, in alphabetical order."""
        return tuple(sorted({answer.model for answer in self.answers}))


def read_frame(store: Store) -> Frame:
    """Read the stored frame; it is empty if no questions were drawn yet."""
    return Frame(answers=store.open_answers.read_answers(), units=store.open_answers.read_units())


def make_frame(study: Study, store: Store, terms: RunTerms = DEFAULT_TERMS) -> Frame:
    """Collect the models' answers and make their units.

    The frame is not stored, but the replies of a model that splits answers into claims are stored.

    Raises
    ------
    BadInput
        If no model was run, or a model named under [experts] has no answers yet.
    DataError
        If a rubric is invalid.
    ModelError
        If the model that splits answers into claims did not reply for an answer; its other replies are stored
        and are not requested again.
    """
    answers = collect_answers(study, store)
    if study.open.units == "rubric":
        wanted = {answer.item_id for answer in answers}
        rubrics = read_rubrics(study, [item.id for item in study_items(study)])
        return Frame(answers=answers, units=[unit for unit in rubrics if unit.item_id in wanted])
    if study.open.units == "answer":
        parts = {answer.text: [WHOLE_ANSWER] for answer in answers}
    elif study.open.units == "sentences":
        parts = {answer.text: split_sentences(answer.text) for answer in answers}
    else:
        parts = find_claims(study, store, {answer.text for answer in answers}, terms)
    units = [
        StoredUnit(
            name_unit(answer.item_id, answer.id, place, text), answer.item_id, answer.id, place, text,
            1.0, None, study.open.units,
        )
        for answer in answers
        for place, text in enumerate(parts[answer.text] or [WHOLE_ANSWER])
    ]  # fmt: skip
    return Frame(answers=answers, units=units)


def collect_answers(study: Study, store: Store) -> list[StoredAnswer]:
    """Read the newest answer of every model to every item; failed calls are left out.

    Raises
    ------
    BadInput
        If no model was run, or a model has no answers yet.
    """
    aside = [
        *study.helpers,
        *(name_side_run(name, use) for name in study.helpers for use in USES),
    ]
    chosen = find_newest_runs(store, study.experts.models or None, aside)
    if chosen.left_out:
        raise BadInput(
            f"{chosen.left_out[0]}; run it, or name only the other models: models = [...] under [experts]"
        )
    found = [
        _make_answer(p.item_id, run["name"], cut_thoughts(p.raw).strip())
        for run in chosen.runs
        for p in store.runs.read_predictions(run["id"])
        if p.status is not PredictionStatus.FAILED
    ]
    return sorted(found, key=lambda answer: (answer.item_id, answer.model))


def _make_answer(item_id: str, model: str, text: str) -> StoredAnswer:
    told = "\x1f".join((item_id, model, text))
    return StoredAnswer(item_id, model, sha256(told.encode()).hexdigest()[:12], text)


def find_claims(
    study: Study, store: Store, texts: Iterable[str], terms: RunTerms = DEFAULT_TERMS
) -> dict[str, list[str]]:
    """Ask the model that splits answers to list the claims of each text. Returns text → claims.

    The model's replies are stored as a separate run, so that no text is sent twice.

    Raises
    ------
    ModelError
        If a reply is missing.
    """
    by_id = {_name_text(text): text for text in sorted(texts) if text}
    replies = ask_aside(study, store, study.open.splitter, CLAIMS, CLAIMS_PROMPT, by_id, terms)
    return {"": [], **{text: read_claims(replies[name]) for name, text in by_id.items()}}


def _name_text(text: str) -> str:
    return f"{UNIT_PREFIX}claims-{sha256(text.encode()).hexdigest()[:16]}"


def show_answer(item: Item, answer: StoredAnswer, unit: StoredUnit) -> tuple[str, str]:
    """Return the text that an expert reads, and the question about a unit; neither shows model or points.

    Examples
    --------
    >>> from oversight.harness.types import OPEN_ANSWER
    >>> item = Item("q1", "What is the dose?", (OPEN_ANSWER,), (0,))
    >>> answer = StoredAnswer("q1", "small", "a1", "Take 5 mg. At night.")
    >>> unit = StoredUnit("u1", "q1", "a1", 0, "Take 5 mg.", 1.0, None, "sentences")
    >>> text, question = show_answer(item, answer, unit)
    >>> text.splitlines()[-1], question
    ('【Take 5 mg.】 At night.', 'Is this true? “Take 5 mg.”')
    """
    shown = answer.text or NO_ANSWER
    if not unit.answer:
        question = f"Does the answer meet this criterion? “{unit.text}”"
    elif unit.text == WHOLE_ANSWER:
        question = "Is the answer right, without an error?"
    else:
        question = f"Is this true? “{unit.text}”"
        shown = shown.replace(unit.text, f"【{unit.text}】", 1)
    return make_storable(f"QUESTION\n{item.text}\n\nANSWER\n{shown}"), make_storable(question)
