"""Types for printed and recomputed numbers, claims of a paper's text, and their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from benchmarks.papers.public_data import why_unusable

EQUAL, NEAR, OFF, MISSING = "equal", "within 2 s.e.", "off", "not available"
FORMULA, COUNTS, SIMULATED, DATA = "formula", "recovered counts", "simulation", "public data"
"""Basis of a recomputed number: other numbers of the paper, integers inferred from printed digits,
simulation, or public data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One printed number.

    Attributes
    ----------
    printed
        The number as printed, in the printed unit; for ``"< 0"`` only the sign is printed.
    value
        The recomputed number, in the printed unit.
    error
        Standard error of `value`, if it is simulated.
    """

    printed: str
    value: float
    error: float | None = None

    @property
    def decimals(self) -> int:
        """Number of printed decimals."""
        return 0 if self.printed == "< 0" else max(0, -int(Decimal(self.printed).as_tuple().exponent))

    @property
    def difference(self) -> float:
        """Recomputed minus printed number; for ``"< 0"``, the recomputed number."""
        return self.value - (0.0 if self.printed == "< 0" else float(self.printed))

    @property
    def status(self) -> str:
        """Result of the comparison: `EQUAL`, `NEAR` or `OFF`.

        `EQUAL` means that an exact value rounds to the printed digits. `NEAR` means that a number within two
        standard errors of a simulated value does so. All other values are `OFF`.
        """
        if self.printed == "< 0":
            return EQUAL if self.value < 0 else OFF
        half = 0.5 * 10.0**-self.decimals
        if self.error is None:
            return EQUAL if abs(self.difference) <= half * (1 + 1e-6) else OFF
        return NEAR if abs(self.difference) <= half + 2 * self.error else OFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The printed numbers at one place of a paper.

    Attributes
    ----------
    place
        Table, row and column, or equation.
    basis
        `FORMULA`, `COUNTS`, `SIMULATED` or `DATA`.
    note
        Why a number is off, or another remark.
    """

    place: str
    numbers: tuple[Number, ...]
    basis: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Printed numbers that cannot be recomputed, their count, and the reason."""

    place: str
    count: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of a paper (`says`), what was found, and whether the claim holds."""

    place: str
    says: str
    found: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All results of one section of a source.

    Attributes
    ----------
    table
        Table of further results without printed counterparts: the header, then the rows.
    """

    rows: tuple[Row, ...] = ()
    missing: tuple[Missing, ...] = ()
    claims: tuple[Claim, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()

    def count(self) -> dict[str, int]:
        """Return the number of printed numbers by status, and the number of claims."""
        numbers = [n for row in self.rows for n in row.numbers]
        missing = sum(m.count for m in self.missing)
        by = {s: sum(n.status == s for n in numbers) for s in (EQUAL, NEAR, OFF)}
        counts = sum(n.status == EQUAL for row in self.rows if row.basis == COUNTS for n in row.numbers)
        return {
            "printed": len(numbers) + missing,
            "recomputed": len(numbers),
            "equal": by[EQUAL],
            "off": by[OFF],
            "not_available": missing,
            "within_2_se": by[NEAR],
            "equal_by_recovered_counts": counts,
            "claims": len(self.claims),
            "claims_that_hold": sum(c.holds for c in self.claims),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a run: whether to use fewer draws, and the folder of the public data."""

    quick: bool
    data: Path

    def draws(self, full: int, quick: int) -> int:
        """Return the number of draws of a simulation."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table, figure or appendix of a source.

    Attributes
    ----------
    name
        Name of the block that it fills on the page.
    make
        Function that computes the results.
    exact
        Whether it needs no simulation, data or long search; the fast test runs only such sections.
    needs
        Names of the files that it needs in the data folder.
    absent
        Numbers that are not available without these files.
    """

    name: str
    title: str
    make: Callable[[Settings], Findings]
    exact: bool = True
    needs: tuple[str, ...] = ()
    absent: tuple[Missing, ...] = ()

    def run(self, settings: Settings) -> Findings:
        """Return the results, or the numbers that are not available if a data file is unusable."""
        usable = not any(why_unusable(settings.data / name) for name in self.needs)
        return self.make(settings) if usable else Findings(missing=self.absent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One paper, its page and its sections.

    Attributes
    ----------
    draw
        Function that draws the page's pictures into a folder, from the results of the sections.
    """

    key: str
    title: str
    page: str
    sections: tuple[Section, ...]
    draw: Callable[[Path, dict[str, Findings]], None] = field(default=lambda _folder, _found: None)


def total(found: Iterable[Findings]) -> dict[str, int]:
    """Add up the counts of several findings."""
    counts = [f.count() for f in found]
    return {key: sum(c[key] for c in counts) for key in Findings().count()}
