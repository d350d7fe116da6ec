"""Recompute the source papers' printed numbers, and rewrite the pages that show them.

    python -m benchmarks.papers 002|000|003|004|all [--quick] [--data FOLDER] [--write]

000 and 001 are two versions of one paper and share a page. The last line is a JSON object that counts the
printed numbers by result: equal to the last printed digit, off, or not available. Claims in words are counted
separately.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers import partitioned, superhuman, tagging, uncertain_truth
from benchmarks.papers.numbers import Findings, Settings, Source, total
from benchmarks.papers.pages import block, render, replace_block, summarise
from benchmarks.papers.public_data import why_unusable

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "papers"
DATA = ROOT.parent / "shared" / "datasets"
ALL = (superhuman.SOURCE, partitioned.SOURCE, tagging.SOURCE, uncertain_truth.SOURCE)
SOURCES: dict[str, Source] = {source.key: source for source in ALL}
ALIASES = {"001": "000"}


def main(words: Sequence[str] | None = None) -> None:
    about = __doc__.splitlines()[0] if __doc__ else None
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=about)
    parser.add_argument("source", choices=(*SOURCES, *ALIASES, "all"))
    parser.add_argument("--quick", action="store_true", help="fewer draws, under 4 minutes for all")
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    parser.add_argument("--write", action="store_true", help="rewrite the pages' tables and pictures")
    args = parser.parse_args(words)
    if args.write and args.quick:
        parser.error("--write needs all draws: leave --quick out")
    named = args.data or os.environ.get("OVERSIGHT_DATASETS")
    settings = Settings(quick=args.quick, data=Path(named or DATA))
    chosen = list(SOURCES) if args.source == "all" else [ALIASES.get(args.source, args.source)]
    unusable = {path: why for key in chosen for path, why in find_unusable(SOURCES[key], settings).items()}
    if named and not settings.data.is_dir():
        parser.error(f"{named} is no folder (--data, or OVERSIGHT_DATASETS)")
    if wrong := [why for path, why in unusable.items() if named and path.exists()]:
        parser.error("; ".join(wrong))
    if args.write and unusable:
        parser.error(f"--write needs all data: {'; '.join(unusable.values())}")
    if named and unusable:
        print(f"without {', '.join(path.name for path in unusable)}, not in {named}", file=sys.stderr)
    every = {}
    for key in chosen:
        every[key] = report(SOURCES[key], settings)
        if args.write:
            write(SOURCES[key], every[key])
    if args.write:
        write_overview(every)
    print(json.dumps(total(f for found in every.values() for f in found.values())))


def find_unusable(source: Source, settings: Settings) -> dict[Path, str]:
    """Return the data files that a source needs but that are missing or unusable, with the reason."""
    needed = [settings.data / name for section in source.sections for name in section.needs]
    return {path: why for path in sorted(set(needed)) if (why := why_unusable(path))}


def report(source: Source, settings: Settings) -> dict[str, Findings]:
    """Recompute and print every section of a source."""
    print(f"# {source.key} {source.title}")
    found = {}
    for why in find_unusable(source, settings).values():
        print(f"not available: {why}")
    for section in source.sections:
        print(f"\n## {section.title}\n")
        found[section.name] = section.run(settings)
        print(render(found[section.name]))
        sys.stdout.flush()
    print()
    return found


def write(source: Source, found: dict[str, Findings]) -> None:
    """Update the page of a source and its pictures."""
    path = PAGES / source.page
    page = path.read_text(encoding="utf-8")
    for name, findings in found.items():
        page = replace_block(page, name, summarise(findings))
    path.write_text(page, encoding="utf-8")
    source.draw(PAGES, found)


def write_overview(every: dict[str, dict[str, Findings]]) -> None:
    """Update the overview table: replace the rows of the sources that were recomputed."""
    path = PAGES / "README.md"
    page = path.read_text(encoding="utf-8")
    lines = block(page, "overview").splitlines()[2:]
    kept = {line.split("|")[1].strip(): line for line in lines}
    kept |= {key: overview_row(SOURCES[key], found) for key, found in every.items()}
    header = ("", "source", "printed", "recomputed", "equal", "by recovered counts", "within 2 s.e.", "off",
              "not available", "claims that hold")  # fmt: skip
    table = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header), *(kept[k] for k in sorted(kept))]
    page = replace_block(page, "overview", "\n".join(table))
    path.write_text(page, encoding="utf-8")


def overview_row(source: Source, found: dict[str, Findings]) -> str:
    """Return the row of a source in the overview table."""
    c = total(found.values())
    keys = (
        "printed",
        "recomputed",
        "equal",
        "equal_by_recovered_counts",
        "within_2_se",
        "off",
        "not_available",
    )
    held = f"{c['claims_that_hold']} of {c['claims']}"
    name = f"[{source.title}]({source.page})"
    return f"| {source.key} | {name} | {' | '.join(str(c[k]) for k in keys)} | {held} |"


if __name__ == "__main__":
    main()
