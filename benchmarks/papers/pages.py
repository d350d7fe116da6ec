"""Format findings as Markdown, and fill the blocks of a page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from benchmarks.papers.numbers import EQUAL, OFF, Findings, Number, Row

END = "<!-- end -->"


def render(found: Findings) -> str:
    """Return all tables of a section as Markdown, for the command's output."""
    parts = []
    if found.rows:
        parts.append(
            show_table(
                ("place", "printed", "recomputed", "difference", "from", "equal"), map(_row, found.rows)
            )
        )
        notes = [f"{row.place}: {row.note}" for row in found.rows if row.note]
        parts += ["\n".join(f"- {note}" for note in notes)] if notes else []
    if found.claims:
        rows = ((c.place, c.says, c.found, "yes" if c.holds else "**no**") for c in found.claims)
        parts.append(show_table(("place", "the paper says", "found", "holds"), rows))
    if found.table:
        parts.append(show_table(found.table[0], found.table[1:]))
    if found.missing:
        lost = ((m.place, str(m.count), m.why) for m in found.missing)
        parts.append(show_table(("not available", "numbers", "why"), lost))
    return "\n\n".join(parts)


def summarise(found: Findings) -> str:
    """Return the counts of a section and a table of deviations as Markdown, for a page."""
    if not found.rows and not found.claims and not found.missing:
        return show_table(found.table[0], found.table[1:])
    rows = [
        (row.place, number.printed, show_value(number), row.note)
        for row in found.rows
        for number in row.numbers
        if number.status == OFF
    ]
    rows += [(claim.place, claim.says, claim.found, "") for claim in found.claims if not claim.holds]
    counts = _describe_counts(found)
    if not rows:
        return counts
    return f"{counts}\n\n{show_table(('place', 'the paper', 'found', 'why'), rows)}"


def _describe_counts(found: Findings) -> str:
    count = found.count()
    parts = []
    if count["printed"]:
        parts.append(f"{count['recomputed']} of {count['printed']} printed numbers recomputed")
    if count["recomputed"]:
        parts.append(f"{count['equal']} equal, {count['within_2_se']} within 2 s.e., {count['off']} off")
    if count["claims"]:
        parts.append(f"{count['claims_that_hold']} of {count['claims']} claims hold")
    return "; ".join(parts) + "."


def show_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _row(row: Row) -> tuple[str, ...]:
    numbers = row.numbers
    statuses = sorted({n.status for n in numbers} - {EQUAL})
    equal = sum(n.status == EQUAL for n in numbers)
    verdict = "yes" if not statuses else f"{equal} of {len(numbers)}; {', '.join(statuses)}"
    if len(numbers) == 1 and statuses:
        verdict = statuses[0]
    return (
        row.place,
        ", ".join(n.printed for n in numbers),
        ", ".join(map(show_value, numbers)),
        ", ".join(map(_difference, numbers)),
        row.basis,
        verdict,
    )


def show_value(n: Number) -> str:
    """Format a recomputed number with one more decimal than printed, and its error with two digits."""
    if "e" in n.printed.lower():
        return f"{n.value:.2e}"
    places = 3 if n.printed == "< 0" else _places(n)
    shown = f"{n.value:.{places}f}"
    if n.error is not None:
        least = places if n.error == 0 else max(places, 1 - math.floor(math.log10(n.error)))
        shown += f" ± {n.error:.{min(least, 6)}f}"
    return shown


def _difference(n: Number) -> str:
    if n.printed == "< 0":
        return "–"
    if "e" in n.printed.lower():
        return f"{n.difference:+.1e}"
    shown = f"{n.difference:+.{_places(n)}f}"
    return shown.replace("-", "+") if float(shown) == 0 else shown


def _places(n: Number) -> int:
    """Return the number of decimals to show: one more than printed, 0 for whole numbers."""
    return 0 if n.decimals == 0 and n.error is None and n.value == round(n.value) else n.decimals + 1


def block(page: str, name: str) -> str:
    """Return the text of a page between the markers of a block.

    Raises
    ------
    ValueError
        If the page has no such block, or several.
    """
    found = re.findall(_pattern(name), page, re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"the page must have one block {name!r}, has {len(found)}")
    return str(found[0][1]).strip()


def replace_block(page: str, name: str, body: str) -> str:
    """Return the page with another text between the markers of a block."""
    block(page, name)
    return re.sub(_pattern(name), lambda m: f"{m[1]}\n{body}\n\n{m[3]}", page, flags=re.DOTALL)


def _pattern(name: str) -> str:
    return rf"(<!-- papers: {re.escape(name)} -->\n)(.*?)({END})"
