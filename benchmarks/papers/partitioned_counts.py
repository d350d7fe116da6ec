"""Search for the integer counts of three runs from which a printed row results.

A row of Table 1 or 2 prints the mean, the standard deviation and the mean standard error of three runs, to
0.01 points each. A run of Ord or Comp is determined by one integer, so that only few triples of integers
result in all three numbers. A mixed row is determined by a pair of triples.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.papers.numbers import Findings, Settings
from benchmarks.papers.partitioned_printed import COLUMNS, TABLE_1, TABLE_2, Cell, Column
from oversight.harness.arrays import FloatArray
from oversight.harness.estimate import estimate_counts

Triple = tuple[int, int, int]
MIXED = ("IVW-0.5", "IVW", "ML")


def search(_settings: Settings) -> Findings:
    """Count the triples that reproduce each row, and the pairs that best reproduce the mixed rows."""
    header = ("column", "Ord", "Comp-n_o", "Comp-Var", "Comp-(K-1)", "best pair: numbers of 9", "such pairs")
    return Findings(table=(header, *(_column(name, c) for name, c in COLUMNS.items())))


def search_sizes(settings: Settings) -> Findings:
    """Search for the sample sizes, which are not printed: those with which triples reproduce printed rows."""
    medical = range(2240, 2251) if settings.quick else range(2236, 2276)
    tried = {
        "EDINET (Extended)": {n_o: range(2950, 3101) for n_o in range(196, 212)},
        "Medical Abstract": {n_o: range(4 * n_o, 4 * n_o + 1) for n_o in medical},
    }
    if settings.quick:
        tried["EDINET (Extended)"] = {203: range(3040, 3051)}
    rows = []
    for name, sizes in tried.items():
        held: dict[tuple[int, int], int] = {}
        for n_o, several in sizes.items():
            right = find_triples(n_o, ordinary(n_o), TABLE_2[name]["Ord"])
            for n_c in several if right else ():
                if found := find_pairs(replace(COLUMNS[name], n_o=n_o, n_c=n_c), right, TABLE_2[name]):
                    held[n_o, n_c] = max(found)
        best = max(held.values())
        at = "; ".join(f"{n_o:,} and {n_c:,}" for (n_o, n_c), k in held.items() if k == best)
        every = [(n_o, n_c) for n_o, several in sizes.items() for n_c in several]
        (low, few), (high, many) = every[0], every[-1]
        span = f"n_o {low:,} to {high:,}, n_c {few:,} to {many:,}"
        rows.append((name, span, f"{len(every):,}", str(len(held)), str(best), at))
    header = ("column", "tried", "sizes", "with triples", "best pair: numbers of 9", "n_o and n_c there")
    return Findings(table=(header, *rows))


def _column(name: str, c: Column) -> tuple[str, ...]:
    cells = (TABLE_1 | TABLE_2)[name]
    right = find_triples(c.n_o, ordinary(c.n_o), cells["Ord"])
    alone = {
        row: len(find_triples(n, complementary(c.K, n), cells[row]))
        for row, n in (("Comp-n_o", c.n_o), ("Comp-Var", c.matched), ("Comp-(K-1)", c.n_c))
        if row in cells
    }
    found = find_pairs(c, right, cells)
    best = max(found, default=0)
    shown = [str(alone[row]) if row in alone else "–" for row in ("Comp-n_o", "Comp-Var", "Comp-(K-1)")]
    return name, str(len(right)), *shown, str(best), str(found.get(best, 0))


def ordinary(n: int) -> Callable[[int], tuple[float, float]]:
    """Return the function S → (A_ord, its standard error as published)."""
    return lambda S: (S / n, (S / n * (1 - S / n) / (n - 1)) ** 0.5)


def complementary(K: int, n: int) -> Callable[[int], tuple[float, float]]:
    """Return the function number of violations → (A_comp, its standard error as published)."""
    return lambda V: (1 - (K - 1) * V / n, (K - 1) * (V / n * (1 - V / n) / (n - 1)) ** 0.5)


def find_triples(n: int, estimate: Callable[[int], tuple[float, float]], cell: Cell) -> list[Triple]:
    """Return all unordered triples of counts from which the three printed numbers of a cell result."""
    mean, deviation = float(cell[0]) / 100, float(cell[1]) / 100
    both = np.array([estimate(s) for s in range(n + 1)])
    near = np.flatnonzero(np.abs(both[:, 0] - mean) <= 2 * deviation + 1e-4)
    found = set()
    for a, b in itertools.combinations_with_replacement(near.tolist(), 2):
        c = int(np.argmin(np.abs(both[:, 0] - (3 * mean - both[a, 0] - both[b, 0]))))
        for third in (c - 1, c, c + 1):
            if 0 <= third <= n and _digits(both[[a, b, third]]) == cell:
                found.add(tuple(sorted((a, b, third))))
    return sorted(found)


def _digits(runs: FloatArray) -> Cell:
    values = 100 * runs[:, 0]
    numbers = values.mean(), values.std(ddof=1), 100 * runs[:, 1].mean()
    return f"{numbers[0]:.2f}", f"{numbers[1]:.2f}", f"{numbers[2]:.2f}"


def find_pairs(c: Column, right: list[Triple], cells: dict[str, Cell]) -> dict[int, int]:
    """Count the pairs of triples by how many of the nine numbers in the mixed rows they reproduce.

    Returns a dictionary: number of reproduced numbers → number of pairs. The second triple of a pair is one
    that reproduces the column's row "Comp-(K-1)". In a column without this row, it is one that reproduces
    IVW-0.5.
    """
    found: dict[int, int] = {}
    for S in right:
        for V in _violations(c, S, cells):
            held = _held(c, S, V, cells)
            found[held] = found.get(held, 0) + 1
    return found


def _violations(c: Column, S: Triple, cells: dict[str, Cell]) -> set[Triple]:
    if "Comp-(K-1)" in cells:
        alone = find_triples(c.n_c, complementary(c.K, c.n_c), cells["Comp-(K-1)"])
        return {p for t in alone for p in itertools.permutations(t)}  # type: ignore[misc]
    half, spread = (float(x) / 100 for x in cells["IVW-0.5"][:2])
    x, scale = np.array(S) / c.n_o, (c.K - 1) / c.n_c
    middle = round((1 - (2 * half - x.mean())) / scale)
    around = np.arange(max(0, middle - 30), middle + 31)
    a, b, d = (g.ravel() for g in np.meshgrid(around, around, around, indexing="ij"))
    runs = np.stack([(x[j] + 1 - scale * v) / 2 for j, v in enumerate((a, b, d))])
    kept = (np.abs(runs.mean(axis=0) - half) <= 0.501e-4) & (
        np.abs(runs.std(axis=0, ddof=1) - spread) <= 5e-4
    )
    return set(zip(a[kept].tolist(), b[kept].tolist(), d[kept].tolist(), strict=True))


def _held(c: Column, S: Triple, V: Triple, cells: dict[str, Cell]) -> int:
    made = [_mixed(c, s, v) for s, v in zip(S, V, strict=True)]
    rows = np.array(made).reshape(3, len(MIXED), 2)
    return sum(
        got == printed
        for j, row in enumerate(MIXED)
        for got, printed in zip(_digits(rows[:, j]), cells[row], strict=True)
    )


_KNOWN: dict[tuple[int, int, int, int, int], list[float]] = {}


def _mixed(c: Column, S: int, V: int) -> list[float]:
    key = (c.K, c.n_o, c.n_c, S, V)
    if key not in _KNOWN:
        made = estimate_counts(c.K, S, c.n_o, c.n_c - V, c.n_c, published=True)
        _KNOWN[key] = [
            x for name in ("ivw_half", "ivw", "ml") for x in (made[name].value, made[name].se or 0.0)
        ]
    return _KNOWN[key]
