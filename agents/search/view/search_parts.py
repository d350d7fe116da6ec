"""Build a page's parts so that a failed part does not affect other parts; convert numbers to JSON values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from oversight.harness import OversightError, StoreError
from oversight.harness.output import redact

T = TypeVar("T")


@dataclass(slots=True)
class SearchParts:
    """Collects the parts of a page that could not be computed.

    Attributes
    ----------
    missing
        Name (``part``) and reason (``why``) of each missing part.
    """

    missing: list[dict[str, str]] = field(default_factory=list)

    def attempt(self, part: str, make: Callable[[], T], otherwise: T) -> T:
        """Return ``make()``. If it raises an error, record the reason, and return `otherwise`."""
        try:
            return make()
        except OversightError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001  somebody may have edited the archive; show the other parts
            reason = _describe_misfit(error)
        self.missing.append({"part": part, "why": reason})
        return otherwise


@contextmanager
def whole_archive() -> Iterator[None]:
    """Turn errors that an inconsistent archive causes within the block into StoreError.

    Raises
    ------
    StoreError
        If the archive is inconsistent, for example because somebody edited the database.
    """
    try:
        yield
    except OversightError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(f"{_describe_misfit(error)}; has the database been edited?") from error


def _describe_misfit(error: Exception) -> str:
    said = " ".join(redact(str(error)).split())
    return f"the archive does not fit together ({type(error).__name__}: {said[:200]})"


def finite(value: float | None) -> float | None:
    """Return a number as a JSON value; None if it is missing or not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def share(value: float | None) -> float | None:
    """Return an accuracy clipped to [0, 1] for display; None if it is missing or not finite."""
    found = finite(value)
    return None if found is None else min(1.0, max(0.0, found))


def shorten_text(text: str, most: int) -> str:
    """Return the first `most` characters of a text, with a note on how many are left out, if any."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"
