"""Progress of a run: rate, cost so far, expected total, and errors."""

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
    """A progress bar on standard error; in a log, a line every few seconds.

    Parameters
    ----------
    total, done
        Number of requested answers, and of those that are already stored.
    what
        Text before the bar.
    prices
        Prices by run id; the cost is not shown if one is None.
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
            # read again, because tqdm reads the variable only when it is imported
            disable=bool(os.environ.get("TQDM_DISABLE")),
        )

    @classmethod
    def of(cls, targets: Sequence[Target], total: int, done: int) -> Self:
        """Create the bar of several models, with the numbers of requested and stored answers."""
        what = targets[0].spec.name if len(targets) == 1 else f"{len(targets)} models"
        return cls(total, done, what, {target.spec.id: target.price for target in targets})

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close the bar; after an error from a full disk, also print how much is stored."""
        self._bar.close()
        if isinstance(error, FullDisk):
            stored = self._total - self._left + self._asked
            raise FullDisk(f"{error}; {stored:,} of {self._total:,} answers are stored") from error

    def wrote(self, rows: Sequence[tuple[str, Prediction]]) -> None:
        """Count answers that were stored."""
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
