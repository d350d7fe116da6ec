"""Check whether the texts of a log can belong to the items with the same ids."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise

from oversight.harness.errors import DataError
from oversight.harness.output import shorten

_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,80}>|\\(?:text|emph|math)[a-z]*(?=\{)")
# In scripts without spaces between words, each character counts as a word.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|[^\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+"
)
_LONG = 12
"""Number of words from which texts are compared by pairs of neighbouring words, not by characters."""
_SAME_PAIRS, _SAME_SIGNS = 0.6, 0.9
_SHOWN, _SHOWN_BEFORE = 3, 40
"""Number of contradictions shown, and length in characters from which a shared beginning is cut."""
_FEW_SIGNS = 30  # characters: a shorter text must occur as whole words to count as contained in another text
_SHORTEST_CUT = 10  # minimum length in characters of a text that counts as a copy cut off within a word
_WHAT_TO_DO = (
    "nothing was imported. If the log uses these ids for other items, change them to the study's ids, or "
    "import a table without ids, whose rows are matched by text. If the ids are right and only the wording "
    "has changed, import a table with only the columns id and prediction"
)
_SIMILAR_CHECKED = 100
"""How many texts that merely resemble their item's text are also compared with all other items' texts."""


def list_words(text: str) -> list[str]:
    """Split a text into its words, without letter case, punctuation, markup and Unicode variants.

    >>> list_words("<b>Which</b> organ&nbsp;pumps *blood*?")
    ['which', 'organ', 'pumps', 'blood']
    """
    plain = unicodedata.normalize("NFKC", html.unescape(text)).casefold()
    return _WORD.findall(_MARKUP.sub(" ", plain))


def find_shared_ends(texts: Iterable[list[str]]) -> tuple[int, int]:
    """Return how many words all texts share at the start and at the end.

    Returns (0, 0) for a single text, and if the sum of both numbers is below 3 or not below the length of the
    shortest text.

    >>> find_shared_ends([["note", "is", "it", "ice", "now"], ["note", "is", "it", "fire", "now"]])
    (3, 1)
    """
    lists = list(texts)
    if len(lists) < 2:
        return 0, 0
    first, last = _count_shared(lists), _count_shared([words[::-1] for words in lists])
    return (first, last) if 3 <= first + last < min(map(len, lists)) else (0, 0)


def _count_shared(lists: Sequence[list[str]]) -> int:
    # All texts share a beginning if the first and the last in sorted order share it.
    low, high = min(lists), max(lists)
    return next(
        (j for j, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high))
    )


def contains_either(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether one of two texts, given as lists of words, contains the other or is a cut-off copy of it.

    >>> contains_either(["is", "ice", "cold"], ["question", "is", "ice", "cold", "answer"])
    True
    """
    for first, second in ((ours, theirs), (_drop_letters(ours), _drop_letters(theirs))):
        own, other = f" {' '.join(first)} ", f" {' '.join(second)} "
        if own.strip() and other.strip() and (own in other or other in own):
            return True
    own, other = "".join(ours), "".join(theirs)
    shorter, longer = sorted((own, other), key=len)
    if own == other or (len(shorter) >= _FEW_SIGNS and shorter in longer):
        return True
    is_cut = len(shorter) >= _SHORTEST_CUT and longer.startswith(shorter)
    return is_cut and not (shorter[-1].isdigit() and longer[len(shorter)].isdigit())


def _drop_letters(words: Sequence[str]) -> list[str]:
    """Remove words of one letter, which can be labels of listed options."""
    return [word for word in words if len(word) > 1 or not word.isascii() or word.isdecimal()]


def are_similar(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether two texts differ only by small corrections; short texts must contain the same numbers.

    >>> are_similar(["which", "organ", "pumps", "blood"], ["wich", "organ", "pumps", "blood"])
    True
    """
    shorter, longer = sorted((ours, theirs), key=len)
    if len(shorter) >= _LONG:
        pairs, known = list(pairwise(shorter)), set(pairwise(longer))
        return sum(pair in known for pair in pairs) >= _SAME_PAIRS * len(pairs)
    numbers = [{word for word in words if any(map(str.isdigit, word))} for words in (ours, theirs)]
    if numbers[0] != numbers[1] or len(longer) > 2 * _LONG:
        return False
    return SequenceMatcher(None, " ".join(ours), " ".join(theirs), autojunk=False).ratio() >= _SAME_SIGNS


@dataclass(slots=True)
class _Contradiction:
    line: int
    id: str
    ours: str
    theirs: str


@dataclass
class TextCheck:
    """Comparison of a log's texts with the texts of the items that have the same ids.

    Attributes
    ----------
    read_texts
        Function that returns item id → text for all items; called only after a compared text differs from its
        item's text.
    checked, unchecked
        Number of compared texts, and number of texts that were not compared because the log's text or the
        item's text has no words.
    """

    read_texts: Callable[[], Mapping[str, str]]
    checked: int = 0
    unchecked: int = 0
    _number: int = 0
    _similar: int = 0
    _shown: list[_Contradiction] = field(default_factory=list)

    def compare(self, line: int, item_id: str, ours: str, theirs: str, shown: str = "") -> None:
        """Compare an item's text with the log's text, and keep a contradiction for `refuse` to report.

        `shown` is further text that the log's prompt showed to the model, for example a system message. If it
        contains the item's text, there is no contradiction.
        """
        if ours == theirs:
            self.checked += 1
            return
        own, other = list_words(ours), list_words(theirs)
        if not own or not other:
            self.unchecked += 1
            return
        self.checked += 1
        is_shown = bool(shown) and f" {' '.join(own)} " in f" {' '.join(list_words(shown))} "
        if own != other and not is_shown and self._contradict(own, other):
            self._number += 1
            if len(self._shown) < _SHOWN:
                self._shown.append(_Contradiction(line, item_id, ours, theirs))

    def _contradict(self, own: list[str], other: list[str]) -> bool:
        if " ".join(other) in self._known:
            return True  # equal to the text of another item
        if contains_either(own, other):
            return False
        first, last = self._shared_ends
        core = own[first : len(own) - last]
        if f" {' '.join(core)} " in f" {' '.join(other)} ":
            return False
        if not are_similar(core, other) and not (core == own and are_similar(own, other)):
            return True
        self._similar += 1
        if self._similar > _SIMILAR_CHECKED:
            return False
        text, mine = f" {' '.join(other)} ", " ".join(own)
        return any(f" {known} " in text for known in self._known if known != mine and known.count(" ") > 1)

    @cached_property
    def _known(self) -> set[str]:
        return {" ".join(list_words(text)) for text in self.read_texts().values()}

    @cached_property
    def _shared_ends(self) -> tuple[int, int]:
        return find_shared_ends(text.split() for text in self._known)

    def refuse(self, file: object) -> None:
        """Raise `DataError` with the first contradictions, if there are any."""
        if not self._number:
            return
        rows = []
        for row in self._shown:
            same = _count_shared([[*row.ours], [*row.theirs]])
            ours, theirs = (
                shorten(text if same < _SHOWN_BEFORE else f"…{text[same - _SHOWN_BEFORE // 2 :]}")
                for text in (row.ours, row.theirs)
            )
            rows.append(
                f"    line {row.line}, id {shorten(row.id, 40)}: the item is {ours}, the log says {theirs}"
            )
        told = f"{self._number:,} of {self.checked:,} compared texts differ from their items' texts"
        told = "\n".join([f"{told}:", *rows, _WHAT_TO_DO])
        raise DataError(told, file=file)
