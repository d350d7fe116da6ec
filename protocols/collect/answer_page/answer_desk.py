"""Serve questions to the answer page, and store each answer once, even if a browser sends it again.

The page receives no truth, prediction, propensity or other person's answer, and does not reveal how or why an
item was chosen. Options are identified by their positions on the page, because their original order may
reveal the true option.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from itertools import islice
from typing import Any

from oversight.harness.config import Study
from oversight.harness.output import join_lines
from oversight.harness.store import PAGE, REFUSED, AuditEvent, AuditRecord, Response, Store, append_events
from oversight.harness.types import Item, Verdict
from oversight.protocols.collect.answer_page.given_answer import GivenAnswer, WrongAnswer
from oversight.protocols.collect.answer_page.page_queues import HeldQuestion, PageQueues
from oversight.protocols.collect.question_texts import OPEN_WORDS, QuestionTexts

_SKIPPED = Verdict.SKIP.value
_VERDICTS = frozenset(verdict.value for verdict in Verdict)


class QuestionSheet:
    """Shows a study's questions with the same texts as Label Studio.

    Parameters
    ----------
    study
        The study of the questions.

    Raises
    ------
    DataError
        If study.toml describes a class that does not exist.
    """

    def __init__(self, study: Study) -> None:
        self._texts = QuestionTexts.of(study)

    def show_question(self, held: HeldQuestion, item: Item) -> dict[str, Any]:
        """Return a question in the form that the page receives.

        Returns
        -------
        dict
            ``id``, ``text``, ``question``; ``description`` of the option asked about, empty if there is
            none; ``options`` of the item, empty if all items have the same options; ``choices``: for a
            panel, one entry per option with ``label`` and ``description``; for a yes/no question, None;
            ``words``: names of the verdicts, left out if they are the usual names;
            ``mark``: digest of all these fields except ``id``, 16 hexadecimal digits.
        """
        shown = self._show_question(held, item)
        # Hash only what the person reads: a hash of the stored options could reveal their source order.
        return {"id": held.id, "mark": _digest(shown), **shown}

    def _show_question(self, held: HeldQuestion, item: Item) -> dict[str, Any]:
        about = self._texts.descriptions
        text = join_lines(item.text)
        shown: dict[str, Any] = {"text": text, "description": "", "options": []}
        if held.option is None:
            options = [item.options[j] for j in self._order(item)]
            choices = [{"label": option, "description": about.get(option, "")} for option in options]
            return shown | {"question": self._texts.ask(item, None), "choices": choices}
        name = item.options[held.option]
        shown |= {
            "question": self._texts.ask(item, held.option),
            "description": about.get(name, ""),
            "choices": None,
        }
        if item.is_statement:
            shown["words"] = OPEN_WORDS
        return shown | ({"options": list(item.shown_options)} if self._texts.own_options else {})

    def read_value(self, held: HeldQuestion, item: Item, value: str) -> str:
        """Convert a value from the page to its stored form: a verdict, or a label (empty if skipped).

        Raises
        ------
        WrongAnswer
            If the value was not offered.
        """
        if held.option is not None:
            if value in _VERDICTS:
                return value
        elif value == _SKIPPED:
            return ""
        elif value.isdecimal() and str(int(value)) == value and int(value) < len(item.options):
            return item.options[self._order(item)[int(value)]]
        raise WrongAnswer("the answer is not one of the offered choices")

    def write_value(self, held: HeldQuestion, item: Item, stored: str) -> str | None:
        """Convert a stored value to the page's value; None if the item no longer has this option."""
        if held.option is not None:
            return stored
        if not stored:
            return _SKIPPED
        places = (place for place, j in enumerate(self._order(item)) if item.options[j] == stored)
        return next(map(str, places), None)

    def _order(self, item: Item) -> tuple[int, ...]:
        """Return the positions of the options in display order.

        This is the order of the classes, or a random order per item if items have different options.
        """
        return item.permutation if self._texts.own_options else tuple(range(len(item.options)))


_AHEAD = 3
"""Number of open questions that a page gets: the one to answer, and two in case the connection is lost."""
_LONG = 8_000
"""Maximum total characters of texts that are sent ahead; if texts are longer, only one question is sent."""
_MOST_GIVEN, _EXCERPT = 500, 80
"""Number of earlier answers that are listed, and number of shown characters of their texts."""


class Outcome(StrEnum):
    """Outcome of storing an answer."""

    STORED = "stored"
    REPEATED = "repeated"
    """The same answer with the same key is already stored."""
    ELSEWHERE = "elsewhere"
    """The question has an answer from another channel, which is kept."""
    CHANGED = "changed"
    """The question was answered in another window after this one showed it; that answer is kept."""
    REWORDED = "reworded"
    """The text or the options were changed after this window showed the question; nothing is stored."""
    KEY_IN_USE = "key"
    """Another answer with this key is stored."""
    NOT_HELD = "unknown"
    """The person has no such question."""


class AnswerDesk:
    """The questions and answers of a study for the people who use the answer page.

    Its methods may be called from several threads; they run one at a time.

    Parameters
    ----------
    study, store
        The study and its database.

    Raises
    ------
    BadInput
        If no question was drawn yet.
    DataError
        If study.toml describes a class that does not exist.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self._study, self._store = study, store
        self._sheet, self._queues = QuestionSheet(study), PageQueues(study, store)
        self._replies = store.replies(panel=study.experts.is_panel)
        # One thread at a time, because many waiting threads would use up the connections.
        self._lock = threading.Lock()
        self._queues.refresh()

    @property
    def people(self) -> list[str]:
        """Names of all people with questions."""
        with self._lock:
            self._queues.refresh()
            return self._queues.people

    def tell_state(self, person: str) -> dict[str, Any]:
        """Return the data of a person's page: their progress and their next questions.

        Returns
        -------
        dict
            ``study``, ``person``, ``instructions``; ``of``: number of the person's questions; ``done``:
            number of answered questions, including ``elsewhere``, the number answered on another channel;
            ``questions``: the next open questions, at most three, as returned by
            `QuestionSheet.show_question`.
        """
        with self._lock:
            self._queues.refresh()
            ahead = list(islice(self._queues.iterate_open(person), _AHEAD))
            done, elsewhere, asked = self._queues.count(person)
            items = self._find_items(held.item_id for held in ahead)
            if sum(len(items[held.item_id].text) for held in ahead) > _LONG:
                ahead = ahead[:1]
        return {
            "study": self._study.study.name,
            "person": person,
            "instructions": self._study.label_studio.instructions,
            "done": done,
            "of": asked,
            "elsewhere": elsewhere,
            "questions": [self._sheet.show_question(held, items[held.item_id]) for held in ahead],
        }

    def tell_given(self, person: str) -> list[dict[str, str]]:
        """Return the answers that a person gave on this page, newest first.

        Each has the question's id and text, the start of the item's text, and the answer.
        """
        with self._lock:
            self._queues.refresh()
            given = self._queues.find_given(person, _MOST_GIVEN)
            found = list[dict[str, str]]()
            for held, reply in given:
                item = self._find_items([held.item_id])[held.item_id]
                shown = self._sheet.show_question(held, item)
                value, excerpt = reply.value or "skip", _shorten(item.text)
                found.append(
                    {"id": held.id, "question": shown["question"], "excerpt": excerpt, "value": value}
                )
        return found

    def tell_previous(self, person: str, before: str = "", named: str = "") -> dict[str, Any] | None:
        """Return an earlier answer of a person with its question; None if there is none.

        If `named` is not empty, it is the id of the question whose answer is returned. If `named` is empty,
        the answer given just before the answer to `before` is returned. If `named` and `before` are
        empty, the newest answer is returned.
        """
        with self._lock:
            self._queues.refresh()
            held = self._queues.find_previous(person, before)
            if named:
                ids = {one.id: one for one, _ in self._queues.find_given(person)}
                held = ids.get(named)
            reply = held and self._queues.reply_to(held.id)
            if held is None or reply is None:
                return None
            item = self._find_items([held.item_id])[held.item_id]
        value = self._sheet.write_value(held, item, reply.value)
        return {"question": self._sheet.show_question(held, item), "value": value, "comment": reply.comment}

    def store_answer(self, person: str, given: GivenAnswer, link: str = "") -> Outcome:
        """Store an answer with its history exactly once. Returns the outcome.

        Parameters
        ----------
        link
            Identifier of the person's link, which the answer's history records.

        Raises
        ------
        WrongAnswer
            If the value was not offered.
        """
        key = _hash_key(person, given.key)
        with self._lock, self._store.together(exclusive=True):
            self._queues.refresh()
            held = self._queues.find_question(person, given.asked_id)
            known = self._store.audit.find_last(key, "key")
            if known is None and held is None:
                return Outcome.NOT_HELD
            if held is None:
                return Outcome.REPEATED
            item = self._find_items([held.item_id])[held.item_id]
            if known is None and given.mark not in (None, self._sheet.show_question(held, item)["mark"]):
                return Outcome.REWORDED
            value = self._sheet.read_value(held, item, given.value)
            event = AuditEvent(
                kind="answer", way=PAGE, person=person, asked_id=held.id, value=value, comment=given.comment,
                seconds=given.seconds, key=key, detail={"link": link} if link else {},
            )  # fmt: skip
            if known is not None:
                return Outcome.REPEATED if _is_same(known, event) else Outcome.KEY_IN_USE
            return self._store_answer(held, item, event, given.was)

    def _store_answer(self, held: HeldQuestion, item: Item, event: AuditEvent, was: str | None) -> Outcome:
        before = self._replies.find_replies([held.id]).get(held.id)
        with self._store.transaction() as connection:
            if before is not None and before.source != PAGE:
                # a refused answer is recorded once per question and person, even if it is sent repeatedly
                told = replace(event, kind=REFUSED, key=_hash_key(REFUSED, f"{event.person}\n{held.id}"))
                append_events(connection, [replace(told, detail={**event.detail, "other": before.source})])
                return Outcome.ELSEWHERE
            if before is not None:
                if was is None and not event.comment:
                    # This browser window did not show the earlier comment, so keep it.
                    event = replace(event, comment=before.comment)
                is_other = (before.value, before.comment) != (event.value, event.comment)
                if is_other and was != self._sheet.write_value(held, item, before.value):
                    return Outcome.CHANGED
            reply = Response(held.id, event.person, event.value, PAGE, event.comment or "")
            self._replies.replace_replies(connection, [held.id], PAGE, [reply])
            append_events(connection, [event])
        return Outcome.STORED

    def _find_items(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return the items with these ids, which can be items of the study or gold items."""
        # Always query both tables, because the response time must not reveal gold items.
        wanted = list(dict.fromkeys(ids))
        return self._store.controls.find_gold(wanted) | self._store.content.find_items(wanted)


def _digest(shown: dict[str, Any]) -> str:
    return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]


def _is_same(known: AuditRecord, event: AuditEvent) -> bool:
    said = (known.kind, known.asked_id, known.value) == (event.kind, event.asked_id, event.value)
    # An erased comment cannot be compared, so it counts as equal to the new comment.
    return said and known.comment in (None, event.comment)


def _hash_key(person: str, key: str) -> str:
    """Hash an answer's key together with the person, so that equal keys of two people do not collide."""
    return sha256(f"{PAGE}\n{person}\n{key}".encode(errors="surrogateescape")).hexdigest()[:32]


def _shorten(text: str) -> str:
    """Return a text of at most `_EXCERPT` characters; a text that is cut ends with an ellipsis."""
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1].rstrip()}…"
