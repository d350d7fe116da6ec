"""The bar of a run under way: rate, cost so far, expected total, errors."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

from oversight.harness.errors import FullDisk
from oversight.harness.llm.limits import Price
from oversight.harness.llm.runner.targets import Target
from oversight.harness.output import make_printable
from oversight.harness.types import Prediction, PredictionStatus


class Progress(AbstractContextManager["Progress"]):
    """A bar on standard error; in a log, a line every few seconds.

    Parameters
    ----------
    total, done
        Answers wanted, and there already.
    what
        Shown before the bar.
    prices
        By run id; None where unknown, and then no cost is shown.
    """

    def __init__(self, total: int, done: int, what: str, prices: Mapping[str, Price | None]) -> None:
        from tqdm import tqdm

        self._prices = prices
        self._total, self._left = total, total - done
        self._usd, self._asked = 0.0, 0
        self.by_kind: Counter[str] = Counter()
        self._bar: tqdm[Any] = tqdm(
            total=total,
            initial=done,
            desc=what,
            unit="item",
            mininterval=0.5 if sys.stderr.isatty() else 10.0,
            file=sys.stderr,
            disable=bool(os.environ.get("TQDM_DISABLE")),  # as of now, where the library was loaded before
        )

    @classmethod
    def of(cls, targets: Sequence[Target], total: int, done: int) -> Self:
        """The bar of models, of which so many answers are wanted and there."""
        what = targets[0].spec.name if len(targets) == 1 else f"{len(targets)} models"
        return cls(total, done, what, {target.spec.id: target.price for target in targets})

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End the bar; an error that the disk is full also says how much is stored."""
        self._bar.close()
        if isinstance(error, FullDisk):
            stored = self._total - self._left + self._asked
            raise FullDisk(f"{error}; {stored:,} of {self._total:,} answers are stored") from error

    def wrote(self, rows: Sequence[tuple[str, Prediction]]) -> None:
        """Take in what was stored."""
        for run_id, prediction in rows:
            price = self._prices[run_id]
            if price is not None:
                self._usd += price.dollars(prediction.input_tokens, prediction.output_tokens)
            if prediction.status is not PredictionStatus.OK:
                self.by_kind[prediction.kind] += 1
        self._asked += len(rows)
        self._bar.set_postfix_str(self._postfix(), refresh=False)
        self._bar.update(len(rows))

    def _postfix(self) -> str:
        parts = []
        if self._usd:
            expected = self._usd * self._left / self._asked
            parts.append(f"${self._usd:.4g} of ~${expected:.4g}")
        elif None in self._prices.values():
            parts.append("price unknown")
        parts += [f"{count} {kind}" for kind, count in self.by_kind.most_common(3)]
        return make_printable(", ".join(parts))
