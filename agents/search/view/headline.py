"""One number for a search, the most honest there is, and what all its other numbers are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oversight.agents.search.view.search_parts import share
from oversight.harness.report import SearchedCandidate, SearchedWinner
from oversight.harness.types import Estimate

_TEST = (
    "Experts' answers about the test items, which no decision of the search has seen: luck has not raised "
    "this number."
)
_REPORTED = (
    "All items that it was chosen by, shrunken towards the other candidates: what is believed once "
    "the luck of being the best of many is taken off."
)
_LEADING = (
    "No winner is confirmed yet. This is the candidate ahead of all that answered every selection item, "
    "shrunken towards the others; it may still change."
)
_NAIVE = (
    "On the selection items, where the winner was picked for being the largest of many numbers: too high by "
    "as much as it was lucky. What a search usually reports."
)
_CONFIRMED = (
    "On the confirmation items alone. Fresh for all finalists, but the best of them was taken, so it is "
    "still a little too high, and it rests on few items."
)
_TRUTH = "The share of the test items that is right by the key, which no estimate here has seen."
_START = "The workflow that you would use without a search, on the same test items as the winner."
_UNTESTED = "Why experts' answers about the test items tell of no accuracy there; a difference may be told."
_DIFFERENCE = (
    "Winner less start, item by item on the same test items; its interval is narrower than the two numbers' "
    "intervals let one think, since what both find hard cancels."
)


def headline(
    winner: SearchedWinner | None, candidates: Sequence[SearchedCandidate], scale: str = "accuracy"
) -> dict[str, Any] | None:
    """The one number; None as long as nothing can be scored.

    Those of the selection are on the search's scale, ``"accuracy"`` or ``"q"``; a test is of accuracies.
    """
    if winner is None:
        ahead = [(c, c.standing) for c in candidates if c.standing is not None and not c.raced_out]
        if not ahead:
            return None
        best, standing = max(ahead, key=lambda pair: pair[1].mean)
        found = _number("leading", "leading so far", standing.mean, (standing.low, standing.high), _LEADING)
        found = {**found, "scale": scale}
        return {**found, "candidate": best.id, "candidate_name": best.name}
    if winner.test:
        found = _test(winner.test, "test", "winner, on the test items", _TEST)
    else:
        found = {**_reported(winner), "scale": scale}
    return {**found, "candidate": winner.id, "candidate_name": winner.name}


def other_numbers(winner: SearchedWinner | None, scale: str = "accuracy") -> list[dict[str, Any]]:
    """All further numbers about the winner, each with what it is and why it differs."""
    if winner is None:
        return []
    numbers = [_reported(winner)] if winner.test else []
    if winner.start_test:
        numbers.append(_test(winner.start_test, "start", "start, on the test items", _START))
    if winner.untested:
        untested = _number("untested", "accuracies on the test items", None, (None, None), _UNTESTED)
        numbers.append({**untested, "said": f"not known: {winner.untested}"})
    if winner.difference:
        difference = _number("difference", "difference, on the test items", None, (None, None), _DIFFERENCE)
        numbers.append({**difference, "said": winner.difference})
    if winner.confirmed is not None:
        numbers.append(_number("confirmed", "fresh items alone", winner.confirmed, (None, None), _CONFIRMED))
    if winner.truth is not None and winner.start_truth is not None:
        numbers.append(_number("truth", "winner, by the opened key", winner.truth, (None, None), _TRUTH))
        numbers.append(
            _number("start_truth", "start, by the opened key", winner.start_truth, (None, None), _TRUTH)
        )
    numbers.append(_number("naive", "uncorrected", winner.naive, (None, None), _NAIVE))
    selected = ("reported", "confirmed", "naive")
    return [{**number, "scale": scale} if number["key"] in selected else number for number in numbers]


def _reported(winner: SearchedWinner) -> dict[str, Any]:
    ends = (winner.low, winner.high)
    name = "winner, corrected for being the best of many"
    return _number("reported", name, winner.reported, ends, _add_doubt(_REPORTED, winner.why))


def _add_doubt(words: str, why: str) -> str:
    return f"{words} The interval may not hold: {why}." if why else words


def _test(found: Estimate, key: str, name: str, words: str) -> dict[str, Any]:
    answers = found.n.ordinary + found.n.complementary
    number = _number(key, name, found.value, (found.low, found.high), _add_doubt(words, found.why))
    return {**number, "level": found.level, "answers": answers}


def _number(
    key: str, name: str, value: float | None, ends: tuple[float | None, float | None], words: str
) -> dict[str, Any]:
    low, high = (share(end) for end in ends)
    ends_ = {"low": low, "high": high}
    return {"key": key, "name": name, "value": share(value), **ends_, "scale": "accuracy", "words": words}
