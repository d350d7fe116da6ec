"""Parts of a page that may fail independently, and numbers as JSON values."""

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
    """Parts of a page that could not be made, with the reasons.

    Attributes
    ----------
    missing
        Texts with part and reason.
    """

    missing: list[dict[str, str]] = field(default_factory=list)

    def attempt(self, part: str, make: Callable[[], T], otherwise: T) -> T:
        """Make a part; if that fails, record why, and continue with a replacement."""
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
    """Read an archive completely, or raise an error.

    Raises
    ------
    StoreError
        If the archive is inconsistent, for example after manual changes.
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
    """Return a number as JSON; None for missing and non-finite values."""
    return None if value is None or not math.isfinite(value) else float(value)


def share(value: float | None) -> float | None:
    """Return an accuracy clipped to [0, 1], only for display."""
    found = finite(value)
    return None if found is None else min(1.0, max(0.0, found))


def shorten_text(text: str, most: int) -> str:
    """Shorten a text to a number of characters, and say how many are left out."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"
