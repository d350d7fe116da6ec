"""How a model's answers were read, in words."""

from __future__ import annotations

from collections.abc import Mapping

from oversight.harness.types.html_table import percent

_STEPS = {
    "form": "in the form asked for",
    "mark": "by another unmistakable mark",
    "whole": "as replies that are nothing but an option",
    "statement": "from a statement in a sentence",
    "log": "by another program",
}
_MOST_LOOSE = 0.05


def reading_lines(steps: Mapping[str, int]) -> list[str]:
    """How answers were read, and a warning if over 5 % were read loosely; nothing if all came from a log.

    Examples
    --------
    >>> reading_lines({"form": 8, "statement": 2})[0]
    'answers were read: 8 in the form asked for, 2 from a statement in a sentence'
    """
    known = {step: n for step, n in steps.items() if step}
    total, loose = sum(known.values()), known.get("statement", 0)
    if not total or known.keys() == {"log"}:
        return []
    counts = [f"{known[step]} {words}" for step, words in _STEPS.items() if known.get(step)]
    lines = [f"answers were read: {', '.join(counts)}"]
    if loose > _MOST_LOOSE * total:
        lines.append(
            f"{percent(loose / total)} of the answers were read loosely, from a statement: look at some of "
            "them, or ask for a fixed form, see answer and pattern under [prompt]"
        )
    return lines
