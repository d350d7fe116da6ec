"""Regular expressions for sentences that state, deny or doubt an answer, in several languages."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import cache

from oversight.harness.llm.reading.languages import Language, make_pattern
from oversight.harness.llm.reading.mentions import MENTION, LetterWords

_OTHER = f"[^{MENTION[1:-1]}]"
_ARTICLES = (
    r"\b(?:both|either|the|an?|my|i|would|case|about|around|probably|likely|definitely|certainly|clearly|surely"
    r"|der|die|das|eine?n?|las?|les?|el|il|o|une?|uma?|het|een|de|den|det|η|ο|το)\b"
)

_BEFORE_LETTER = (
    *("noun", "verb", "right", "wrong", "choose", "final", "deny", "doubt"),
    *("but", "reason", "joins"),
)
_AFTER_LETTER = ("verb", "reason", "joins", "deny", "but", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Regular expressions for text in which each mention of an option is replaced by one character.

    Attributes
    ----------
    letters
        Patterns of the words around an option's letter.
    claims, weak_claims
        Clauses that state an answer; a weak claim is used only if the reply has no other claim.
    refutations
        Clauses that say that an option is wrong.
    deny, doubt, assured, final, instead, retract
        Words with the roles described in `Language`.
    turn, clause, reason
        Words or punctuation between the parts of a sentence, between clauses, and before an explanation.
    several
        Several options joined by "or" or "and".
    fill
        Words that add no content to a reply that consists of an option.
    said
        The words "The answer is", and the rest of the line.
    """

    letters: LetterWords
    claims: re.Pattern[str]
    weak_claims: re.Pattern[str]
    refutations: re.Pattern[str]
    deny: re.Pattern[str]
    doubt: re.Pattern[str]
    assured: re.Pattern[str]
    final: re.Pattern[str]
    instead: re.Pattern[str]
    retract: re.Pattern[str]
    turn: re.Pattern[str]
    clause: re.Pattern[str]
    reason: re.Pattern[str]
    several: re.Pattern[str]
    fill: re.Pattern[str]
    said: re.Pattern[str]


@cache
def make_grammar(languages: tuple[str, ...]) -> Grammar:
    """Build the patterns for several languages (names of `LANGUAGES`)."""
    words = {role.name: make_pattern(role.name, languages) for role in fields(Language)}
    noun, verb, right, final, joins = (words[r] for r in ("noun", "verb", "right", "final", "joins"))
    deny, wrong, choose, m = words["deny"], words["wrong"], words["choose"], MENTION
    is_ = rf"(?:{verb}|[:：=→–—]|-(?!\d))"  # "-2" is a number
    filler = rf"(?:\W+(?:\w{{1,3}}|[a-z]+ly|case|most|best|described|{noun}|{right}|{final}))*"
    claims = (
        rf"{noun}{_OTHER}{{0,60}}?{is_}{_OTHER}{{0,40}}?{m}",
        rf"(?:{right}\W{{1,3}}{noun}|{noun}\W{{1,3}}{right})[\s:—–-]*{m}",
        rf"{m}(?:\s*{noun})?(?:\W{{0,3}}{is_}{filler}\W*|\W{{1,3}}){right}",
        rf"{m}\W{{0,3}}{is_}?{_OTHER}{{0,25}}?{noun}\W*$",
        rf"{choose}(?:\W+\w+){{0,4}}?\W*{m}(?!\W*{verb})",
        rf"{m}\W{{0,3}}(?:\w+\W+){{0,2}}?\w*{choose}",
        rf"^\W*{final}\W+(?:\w+\W+){{0,5}}?{m}\W*$",
        rf"(?:^|\s|,)\W*{words['subject']}(?:\W+\w+){{0,4}}?\W*{verb}{filler}\W*{m}(?:\W+\w+){{0,3}}\W*$",
        rf"{verb}\W+{m}\W+(?:the|{noun}|{right})",
        rf"{m}\s+it\s+is\W*$",
    )
    refutations = (
        rf"{deny}\W+(?:\w+\W+){{0,3}}?{m}",
        rf"{m}(?:\s*{noun})?\W{{0,3}}{_OTHER}{{0,30}}?(?:{wrong}|{deny})",
        rf"{wrong}\W+(?:\w+\W+){{0,3}}?{m}",
    )
    before = "|".join(map(words.__getitem__, _BEFORE_LETTER))
    after = "|".join(map(words.__getitem__, _AFTER_LETTER))
    return Grammar(
        letters=LetterWords(
            before=_made(rf"(?:{before})\s*(?:{_ARTICLES}\s*)?\Z"),
            after=_made(rf"\s+(?:{after}|for|per|the|over)"),
        ),
        claims=_made("|".join(claims)),
        weak_claims=_made(rf"{is_}{filler}\W*{m}\W*$"),
        refutations=_made("|".join(refutations)),
        deny=_made(rf"{deny}|{wrong}|\w+n't\b"),
        doubt=_made(words["doubt"]),
        assured=_made(words["assured"]),
        final=_made(final),
        instead=_made(words["instead"]),
        retract=_made(rf"(?:^|[.,;–—-]\s*)\W*{words['retract']}"),
        turn=_made(words["but"]),
        clause=_made(rf"[,;，；、،]|(?={words['contrast']})"),
        reason=_made(words["reason"]),
        several=_made(
            rf"{m}(?:\s*[,/&]\s*{m})*\s*,?\s*(?:{joins}|[/&+、,]|{joins}\s*{noun}|{joins}\s*/\s*{joins})"
            rf"\s*{m}(?=$|\W)"
        ),
        fill=_made(rf"{noun}|{verb}|{right}|{final}|{joins}|{_ARTICLES}|\W"),
        said=_made(rf"({noun}\W{{0,3}}{is_}\s*)(\S.*)$"),
    )


def _made(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
