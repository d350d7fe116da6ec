"""An answer becomes units: itself, its sentences, or the claims that a model lists."""

from __future__ import annotations

import re

_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|ca|dr|mr|mrs|ms|prof|no|fig|st|inc|ltd|co)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?…])[\"')\]”’]*\s+(?=[\"'(\[“‘]?[A-Z0-9])")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_CLAIM = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,3}[.)])\s+(\S.*)$")
CLAIMS_PROMPT = """\
List every claim that the text below makes. Write one claim per line, each line beginning with "- ". \
Each claim must be a short, complete sentence that can be understood without the text. Add nothing that \
the text does not say. If the text makes no claim, write only: none

$text
"""
"""Template of the prompt by which a model finds the claims of an answer."""


def split_sentences(text: str) -> list[str]:
    r"""Split an answer into its sentences; lines and list items also end one.

    Examples
    --------
    >>> split_sentences("Take 5 mg, e.g. at night. Dr. Low agrees.\n- Avoid alcohol")
    ['Take 5 mg, e.g. at night.', 'Dr. Low agrees.', 'Avoid alcohol']
    """
    found = list[str]()
    for line in text.splitlines():
        rest, pieces = _BULLET.sub("", line).strip(), list[str]()
        for piece in _END.split(rest):
            if pieces and _ABBREVIATION.search(pieces[-1]):
                pieces[-1] = f"{pieces[-1]} {piece}"
            else:
                pieces.append(piece)
        found += [piece.strip() for piece in pieces if any(c.isalnum() for c in piece)]
    return found


def read_claims(reply: str) -> list[str]:
    r"""Read the claims that a model listed, one per line with a dash or a number; without repeats.

    Examples
    --------
    >>> read_claims("Claims:\n- Aspirin thins blood.\n- It is safe for all.")
    ['Aspirin thins blood.', 'It is safe for all.']
    """
    lines = (_CLAIM.match(line) for line in reply.splitlines())
    return list(dict.fromkeys(found[1].strip() for found in lines if found))
