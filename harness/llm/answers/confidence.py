"""How sure a model was of the option it named, from the log-probabilities of its tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from harness.llm.answers.option_names import option_letters_of


def answer_confidence(
    logprobs: Sequence[tuple[str, float]], shown_options: Sequence[str], shown: int
) -> float | None:
    """Probability of the tokens that name the option.

    The last occurrence of the option's letter as a token of its own, or of its text, is taken as the
    place where the answer was given; the probability of the tokens that spell it is their product.
    It is the model's own, given all it wrote before: no frequency of being right.

    Parameters
    ----------
    logprobs
        Tokens of the whole answer with their log-probabilities.
    shown_options
        The options in display order.
    shown
        Position of the option that was read.

    Returns
    -------
    float or None
        In [0, 1]; None if there are no log-probabilities, or the tokens do not spell the option.
    """
    letter = option_letters_of(len(shown_options))[shown]
    for token, logprob in reversed(logprobs):
        if token.strip(" \n\t\"'*_`()[]{}:.").upper() == letter:
            return _probability(logprob)
    text = "".join(token for token, _ in logprobs)
    named = re.compile(rf"(?<![\w.-]){re.escape(shown_options[shown])}(?!\w)", re.IGNORECASE)
    occurrences = [match.span() for match in named.finditer(text)]
    if not occurrences:
        return None
    (start, end), place, total = occurrences[-1], 0, 0.0
    for token, logprob in logprobs:
        if place < end and place + len(token) > start:
            total += logprob
        place += len(token)
    return _probability(total)


def _probability(logprob: float) -> float | None:
    # Servers that mask tokens by a grammar may say -inf or nan; some say a little more than 0.
    return math.exp(min(0.0, logprob)) if not math.isnan(logprob) else None
