"""The price table that the user maintains.

No price is built in, because prices change without notice and a wrong price is worse than none. The table
is a TOML file in dollars per million tokens::

    checked = 2026-11-21            # when the prices were looked up; shown beside every estimate

    [models."gpt-5-mini"]
    input = 0.25
    output = 2.00
    batch = 0.5                     # the Batch API's price as a share of the above (default 0.5)
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oversight.harness.errors import DataError
from oversight.harness.output import read_text
from oversight.harness.types import Source, Usage

if TYPE_CHECKING:
    from oversight.harness.store import NotedPrice


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens.

    Attributes
    ----------
    input, output
        Price of tokens sent and received.
    batch
        Share of both prices that the Batch API charges.
    """

    input: float
    output: float
    batch: float = 0.5

    def dollars(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost in dollars of one call, or of several together."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000

    def in_batch(self) -> Price:
        """Return the price of the same tokens through the Batch API."""
        return Price(self.input * self.batch, self.output * self.batch, batch=1.0)

    def by_source(self, source: str) -> Price:
        """Return the price of the same tokens if answers are obtained from this source."""
        return {Source.BATCH: self.in_batch(), Source.IMPORT: FREE}.get(Source(source), self)


FREE = Price(0.0, 0.0)
"""Price of models on this machine, which are free."""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model name, and the day on which they were checked."""

    models: Mapping[str, Price] = field(default_factory=dict)
    checked: date | None = None


def read_prices(path: str | Path, *, required: bool = True) -> PriceTable:
    """Read a price table from a TOML file.

    Parameters
    ----------
    path
        The TOML file.
    required
        Whether a missing file is an error; otherwise it is an empty table.

    Raises
    ------
    DataError
        If the file is not TOML, has an unknown key, or a price is not a number ≥ 0.
    """
    path = Path(path)
    if not required and not path.exists():
        return PriceTable()
    try:
        table = tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the price table cannot be read: {error}", file=path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid TOML: {error}", file=path) from None
    checked = table.pop("checked", None)
    if checked is not None and type(checked) is not date:
        raise DataError(f"must be a date such as 2026-11-21, not {checked!r}", file=path, field="checked")
    models = table.pop("models", {})
    if table:
        raise DataError("unknown key; known are checked and models", file=path, field=next(iter(table)))
    return PriceTable({name: _price(entry, path, name) for name, entry in models.items()}, checked)


def _price(entry: Any, path: Path, name: str) -> Price:
    where = f"models.{name}"
    if not isinstance(entry, dict):
        raise DataError("must be a table with input and output", file=path, field=where)
    for key, value in entry.items():
        if key not in ("input", "output", "batch"):
            raise DataError("unknown key; known are input, output, batch", file=path, field=f"{where}.{key}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise DataError(f"must be a number ≥ 0, not {value!r}", file=path, field=f"{where}.{key}")
    for key in ("input", "output"):
        if key not in entry:
            raise DataError("is missing", file=path, field=f"{where}.{key}")
    return Price(**{key: float(value) for key, value in entry.items()})


def sum_tokens(used: Iterable[Usage]) -> dict[str, tuple[int, int]]:
    """Return a run's input and output tokens by source of the answers."""
    found = dict[str, tuple[int, int]]()
    for part in used:
        sent, received = found.get(part.source.value, (0, 0))
        found[part.source.value] = sent + part.input_tokens, received + part.output_tokens
    return found


def dollars(price: Price | None, used: Iterable[Usage], noted: Sequence[NotedPrice] = ()) -> float | None:
    """Return the cost of a run in dollars, with each call at the price that was valid when it was made.

    Batches count at their own price, and imported answers cost nothing.

    Parameters
    ----------
    price
        The present price, used for a run without stored prices; None if unknown.
    used
        The run's complete usage.
    noted
        Prices stored with the run, the oldest first.

    Returns
    -------
    float or None
        None if no price is known.
    """
    prices = [Price(**each.price) for each in noted] or ([] if price is None else [price])
    if not prices:
        return None
    total = 0.0
    for source, (sent, received) in sum_tokens(used).items():
        starts = [each.since.get(source, (0, 0)) for each in noted[1:]]
        passed = [(min(sent, first), min(received, second)) for first, second in starts]
        bounds = [(0, 0), *passed, (sent, received)]
        for held, (before, after) in zip(prices, pairwise(bounds), strict=True):
            total += held.by_source(source).dollars(after[0] - before[0], after[1] - before[1])
    return total
