"""Whole logs of other programs, read and matched with items in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from oversight.harness.datasets import iterate_foreign
from oversight.harness.llm import Notation
from oversight.harness.llm.runner.prediction import read_foreign_option, refuse_stranger
from oversight.harness.types import ForeignAnswer, Item, Prediction, Source, fold_text


def read_foreign(path: str | Path, kind: str) -> list[ForeignAnswer]:
    return list(chain.from_iterable(iterate_foreign(path, kind)))


def to_predictions(
    answers: Iterable[ForeignAnswer], items: Sequence[Item], file: object, named_by: Notation | None = None
) -> list[Prediction]:
    """Match answers with items, by id or else by text; `named_by` is "option" for a table."""
    by_id = {item.id: item for item in items}
    by_text = {fold_text(item.text): item for item in items}
    found = []
    for answer in answers:
        item = by_id.get(answer.id) or by_text.get(fold_text(answer.text))
        if item is None:
            raise refuse_stranger(answer, file)
        option, status, reason, step = read_foreign_option(
            answer, item.id, item.options, file, named_by=named_by
        )
        found.append(
            Prediction(
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
                step=step,
            )
        )
    return found
