"""Several answers of one model to the same question become one by a vote (self-consistency).

Wang et al. (2023, ICLR), "Self-Consistency Improves Chain of Thought Reasoning in Language Models".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from harness.types import Prediction, PredictionStatus


def take_votes(predictions: Iterable[Prediction]) -> Iterator[Prediction]:
    """One prediction per item from those of one run, sorted by item.

    An item with one sample keeps it as it is. Among several, the option with the most readable answers
    wins, the earliest sample's among equals; `confidence` is its share of all answers that came. Without a
    readable answer the item is unreadable, without any answer failed, for the first one's reason.
    Tokens, seconds and attempts are summed.
    """
    for _, group in groupby(predictions, key=attrgetter("item_id")):
        samples = list(group)
        yield samples[0] if len(samples) == 1 else _vote(samples)


def _vote(samples: Sequence[Prediction]) -> Prediction:
    votes = Counter(p.option for p in samples if p.option is not None)
    came = [p for p in samples if p.status is not PredictionStatus.FAILED]
    confidence = None
    if votes:
        option, count = votes.most_common(1)[0]  # equal counts come in the order first met
        chosen = next(p for p in samples if p.option == option)
        confidence = count / len(came)
    else:
        chosen = came[0] if came else samples[0]
    return replace(
        chosen,
        sample=0,
        confidence=confidence,
        input_tokens=sum(p.input_tokens for p in samples),
        output_tokens=sum(p.output_tokens for p in samples),
        seconds=sum(p.seconds for p in samples),
        attempts=sum(p.attempts for p in samples),
    )
