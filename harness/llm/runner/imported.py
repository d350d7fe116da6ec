"""Answers from elsewhere become predictions about the study's items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from harness.errors import DataError
from harness.llm.runner.parsing import Unreadable, parse_answer
from harness.llm.runner.prediction import make_unreadable
from harness.types import ForeignAnswer, Item, Prediction, PredictionStatus, Source


def to_predictions(answers: Iterable[ForeignAnswer], items: Sequence[Item], file: object) -> list[Prediction]:
    """Match answers with items, by id or else by text, and options by their text.

    What the other program read as the answer is taken; where it read nothing, what the model wrote is
    parsed as if it had been asked here.

    Raises
    ------
    DataError
        If an answer belongs to no item, or its options are not the item's.
    """
    by_id = {item.id: item for item in items}
    by_text = {_fold(item.text): item for item in items}
    found = []
    for answer in answers:
        item = by_id.get(answer.id) or by_text.get(_fold(answer.text))
        if item is None:
            raise DataError(
                f"no item of the study has the id {answer.id!r} or this text", file=file, line=answer.line
            )
        found.append(_prediction(answer, item, file))
    return found


def _prediction(answer: ForeignAnswer, item: Item, file: object) -> Prediction:
    shown, places = answer.options or item.options, _places(answer, item, file)
    status, reason, option = PredictionStatus.FAILED, f"import: {answer.error}", None
    if not answer.error:
        read = answer.answer
        found = parse_answer(read, shown) if isinstance(read, str) else read
        if not isinstance(found, int):
            found = parse_answer(answer.raw, shown, cut=answer.cut)
        if isinstance(found, Unreadable):
            status, reason = make_unreadable(found, cut=answer.cut)
        else:
            status, reason, option = PredictionStatus.OK, "", places[found]
    return Prediction(
        item_id=item.id,
        option=option,
        status=status,
        reason=reason,
        sample=answer.sample,
        raw=answer.raw,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        seconds=answer.seconds,
        confidence=None if option is None else answer.confidence,
        source=Source.IMPORT,
    )


def _places(answer: ForeignAnswer, item: Item, file: object) -> list[int]:
    """Where the other program's options stand among the item's."""
    if not answer.options:
        return list(range(len(item.options)))
    own = [_fold(option) for option in item.options]
    if len(answer.options) != len(own):
        raise DataError(
            f"item {item.id!r} has {len(own)} options, here it has {len(answer.options)}",
            file=file,
            line=answer.line,
        )
    for option in answer.options:
        if _fold(option) not in own:
            raise DataError(f"{option!r} is no option of the item {item.id!r}", file=file, line=answer.line)
    return [own.index(_fold(option)) for option in answer.options]


def _fold(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()
