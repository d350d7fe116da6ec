"""Find which options the sentences of a reply affirm, deny or doubt as the answer.

A `Grammar` has the regular expressions for such sentences in several languages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import cache

from oversight.harness.llm.reading.languages import Language, make_pattern
from oversight.harness.llm.reading.mentions import MENTION, SEVERAL, LetterWords, Pattern

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
        Words that a reply can have besides an option; they do not change what the reply says.
    said
        The words "The answer is", and the rest of the line.
    """

    letters: LetterWords
    claims: Pattern
    weak_claims: Pattern
    refutations: Pattern
    deny: Pattern
    doubt: Pattern
    assured: Pattern
    final: Pattern
    instead: Pattern
    retract: Pattern
    turn: Pattern
    clause: Pattern
    reason: Pattern
    several: Pattern
    fill: Pattern
    said: Pattern


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


def _made(pattern: str) -> Pattern:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_SENTENCE = re.compile(r"[^\n.!?。！？؟।]*(?:\.(?=\w)[^\n.!?。！？؟।]*)*[.!?。！？؟।]*")
_BRACKET = re.compile(r"\([^()]*\)|（[^（）]*）")
_FIELD = re.compile(rf"\W*(\w{{1,30}}(?: \w{{1,30}}){{0,2}}\W{{0,2}}[:：])\W{{0,3}}{MENTION}\W*")
_SHORT = 4
_LONG_WORD, _LONGEST_SENTENCE = re.compile(r"[A-Za-z0-9_]{60,}"), 2_000
"""Words that are removed, and length from which sentences are skipped: matching takes quadratic time."""


@dataclass(slots=True)
class Findings:
    """Statements in a reply about the options.

    Each option is represented by the character that `mark_mentions` writes for it.

    Attributes
    ----------
    affirmed
        Pairs (option stated as the answer, whether the sentence is a conclusion), in order of the reply.
    weakly
        Options stated by a weak claim, see `Grammar`.
    refuted, doubted, mentioned
        Options that a clause denies, options named with doubt, and all mentioned options.
    """

    affirmed: list[tuple[str, bool]] = field(default_factory=list)
    weakly: set[str] = field(default_factory=set)
    refuted: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)

    def settle(self) -> str | None:
        """Return the option that the reply states as the answer.

        Returns None if no option or several options are affirmed, or if the affirmed option is also denied.
        """
        said = {option for option, _ in self.affirmed}
        if not said and self.weakly == self.mentioned - self.refuted:
            said = set(self.weakly)
        if len(said) > 1 and self.affirmed:  # a final conclusion overrules earlier statements
            option, is_final = self.affirmed[-1]
            final = {o for o, f in self.affirmed if f}
            said = {option} if is_final and final == {option} else said
        return said.pop() if len(said) == 1 and not said & (self.refuted | {SEVERAL}) else None

    @property
    def reason(self) -> str:
        """Reason why `settle` returns None, as in `ReplyReading.reason`."""
        if (len(self.mentioned) > 1 and (self.affirmed or self.weakly)) or SEVERAL in self.mentioned:
            return "several"
        if self.refuted:
            return "denied"
        if self.doubted:
            return "doubted"
        return "none" if not self.mentioned else "several" if len(self.mentioned) > 1 else "mentioned"


def find_statements(marked: str, grammar: Grammar) -> Findings:
    """Collect the statements of a text whose mentions of options were replaced by `mark_mentions`."""
    found = Findings()
    marked = _LONG_WORD.sub("…", marked)
    lines = [line for line in marked.split("\n") if line.strip()]
    heads = {m[1] for line in lines if (m := re.match(rf"\W*({MENTION})(?=\W)", line.strip() + " "))}
    is_list = len(heads) > 1 and len(lines) > 1
    names = {m[1] for line in lines[-1:] if (m := _FIELD.fullmatch(line))}
    for place, line in enumerate(lines):
        sentences = [s for s in _SENTENCE.findall(line) if s.strip() and len(s) <= _LONGEST_SENTENCE]
        is_entry = is_list and re.fullmatch(rf"\W*{MENTION}\W*", line) is None
        is_field = (m := _FIELD.fullmatch(line)) is not None and m[1] in names
        if is_field and not grammar.deny.search(line):
            found.affirmed.append((re.findall(MENTION, line)[0], False))
        for j, sentence in enumerate(sentences):
            is_first = place == 0 and j == 0 and not is_entry
            is_last = place == len(lines) - 1 and j == len(sentences) - 1 and not is_entry
            _read_sentence(sentence, grammar, found, first=is_first, last=is_last)
    return found


def _read_sentence(sentence: str, grammar: Grammar, found: Findings, *, first: bool, last: bool) -> None:
    """Add the statements of a sentence to `found`.

    `first` and `last` say whether the sentence is the first or the last one of the reply. Such a sentence
    states the answer even if it consists only of an option.
    """
    if (found.affirmed or found.weakly) and grammar.retract.search(sentence):
        found.doubted |= {option for option, _ in found.affirmed} | found.weakly
        found.affirmed.clear()
        found.weakly.clear()
    mentions = set(re.findall(MENTION, sentence))
    if not mentions:
        return
    found.mentioned |= mentions
    sentence = grammar.instead.sub(r"\g<0>,", grammar.assured.sub(" ", sentence))
    sentence = grammar.several.sub(_join_several, sentence)
    is_question = sentence.rstrip(" )\"'").endswith(("?", "？", "؟"))
    is_final = grammar.final.search(sentence) is not None
    has_denied = False
    for n, part in enumerate(grammar.turn.split(sentence)):
        clauses = grammar.clause.split(_BRACKET.sub(" ", part))
        end = len(clauses) - 1
        clauses += _BRACKET.findall(part)
        is_doubtful = is_question or grammar.doubt.search(clauses[0]) is not None
        for j, whole in enumerate(clauses):
            clause, *explanation = grammar.reason.split(whole)
            for piece in explanation:
                _note_refuted(piece, grammar, found)
            options = set(re.findall(MENTION, clause))
            may_lead = first or last or has_denied
            if grammar.deny.search(clause):
                has_denied = True
                _note_refuted(clause, grammar, found)
            elif is_doubtful or grammar.doubt.search(clause):
                found.doubted |= options
            elif grammar.claims.search(clause) or (
                may_lead
                and _is_bare(clause, grammar, has_denied=has_denied)
                and (has_denied or (n == j == 0 and not _is_denial(clauses[1:2], grammar)))
            ):
                found.affirmed += [(option, is_final) for option in options]
            elif (
                last
                and n == 0
                and j == end
                and (grammar.weak_claims.search(clause) or _is_bare(clause, grammar))
            ):
                found.weakly |= options


def _is_bare(clause: str, grammar: Grammar, *, has_denied: bool = False) -> bool:
    """Whether a clause consists of a single option; with `has_denied`, it may contain one more short word."""
    if len(set(re.findall(MENTION, clause))) != 1:
        return False
    rest = grammar.fill.sub("", re.sub(MENTION, "", clause))
    return not rest or (has_denied and len(rest) <= _SHORT)


def _note_refuted(clause: str, grammar: Grammar, found: Findings) -> None:
    if grammar.refutations.search(clause):
        found.refuted |= set(re.findall(MENTION, clause))


def _join_several(joined: re.Match[str]) -> str:
    return joined[0] if len(set(re.findall(MENTION, joined[0]))) == 1 else SEVERAL


def _is_denial(clauses: list[str], grammar: Grammar) -> bool:
    """Whether one of these clauses denies the clause before it, as in "hate speech, no"."""
    return any(grammar.deny.match(c.strip()) and not re.search(MENTION, c) for c in clauses)
