"""Find which options the sentences of a reply affirm, deny or doubt as the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from oversight.harness.llm.reading.grammar import Grammar
from oversight.harness.llm.reading.mentions import MENTION, SEVERAL

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
    fields = {m[1] for line in lines[-1:] if (m := _FIELD.fullmatch(line))}
    for place, line in enumerate(lines):
        sentences = [s for s in _SENTENCE.findall(line) if s.strip() and len(s) <= _LONGEST_SENTENCE]
        is_entry = is_list and re.fullmatch(rf"\W*{MENTION}\W*", line) is None
        is_field = (m := _FIELD.fullmatch(line)) is not None and m[1] in fields
        if is_field and not grammar.deny.search(line):
            found.affirmed.append((re.findall(MENTION, line)[0], False))
        for j, sentence in enumerate(sentences):
            is_first = place == 0 and j == 0 and not is_entry
            is_last = place == len(lines) - 1 and j == len(sentences) - 1 and not is_entry
            _read_sentence(sentence, grammar, found, first=is_first, last=is_last)
    return found


def _read_sentence(sentence: str, grammar: Grammar, found: Findings, *, first: bool, last: bool) -> None:
    """Add the statements of a sentence to `found`.

    The first or last sentence of a reply states the answer if it names a single option.
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
