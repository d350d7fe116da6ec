"""Words for yes, no and unsure that people write in spreadsheets."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from oversight.harness import BadInput, check_names
from oversight.harness.types import Verdict

_KNOWN = {
    Verdict.YES: "y ja j oui si sí sim true wahr vrai vero verdadero verdadeiro 1",
    Verdict.NO: "n nein non não nao nej nee false falsch faux falso 0",
    Verdict.UNSURE: "unsicher incertain",
}
"""Words besides the verdicts' names; words that mean yes in one language and no in another are left out."""


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """The words that people may write as answers.

    Attributes
    ----------
    meanings
        Word in lower case → verdict; the empty word means no answer.
    """

    meanings: Mapping[str, str]

    def read_verdict(self, said: str) -> str | None:
        """Return the verdict of a cell's text; empty for an empty cell, None for an unknown word."""
        return self.meanings.get(_fold(said))

    def list_words(self) -> str:
        """Return a text that lists the words of each verdict."""
        by_verdict = (
            f"{verdict}: {', '.join(word for word, meant in self.meanings.items() if meant == verdict)}"
            for verdict in Verdict
        )
        return "; ".join(by_verdict)


_PHRASES = {"cannot tell": Verdict.UNSURE.value, "not my field": Verdict.SKIP.value}
"""Additional words that experts may write about open answers."""
OPEN_REPLIES = (Verdict.YES.value, Verdict.NO.value, *_PHRASES)
"""Words in the drop-down list of answers about open answers."""


def make_words(yes: Iterable[str] = (), no: Iterable[str] = (), unsure: Iterable[str] = ()) -> AnswerWords:
    """Return the built-in answer words and the given ones; a given word can redefine a built-in word.

    Raises
    ------
    BadInput
        If a given word is empty, is given for two verdicts, or is itself the name of another verdict.
    """
    meanings = {"": ""} | {verdict.value: verdict.value for verdict in Verdict}
    names = dict(meanings)
    meanings |= {word: verdict.value for verdict, words in _KNOWN.items() for word in words.split()}
    meanings |= _PHRASES
    given = dict[str, str]()
    for verdict, words in ((Verdict.YES, yes), (Verdict.NO, no), (Verdict.UNSURE, unsure)):
        check_names(verdict.value, words)
        for word in map(_fold, words):
            if not word:
                raise BadInput(
                    f"the word for {verdict} is empty; an empty cell already means an unanswered question"
                )
            meant = given.setdefault(word, names.get(word, verdict.value))
            if meant != verdict:
                raise BadInput(f"the word {word!r} cannot mean both {meant} and {verdict}")
    return AnswerWords(meanings | given)


def _fold(said: str) -> str:
    return unicodedata.normalize("NFC", said).strip().casefold()
