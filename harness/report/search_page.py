"""The page of a search: lineage, differences of source, front of accuracy against tokens.

The nodes of the lineage stand in generations from left to right, families together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.machine import write_whole
from harness.report.pages import page_template
from harness.report.search_findings import SearchedCandidate, SearchReport

COLUMN, ROW, WIDTH, HEIGHT = 190, 46, 158, 36


def write_search_html(report: SearchReport, path: str | Path) -> Path:
    """Write the page, whole or not at all, and return its path.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    template = page_template("search.html")
    from harness.report.search_plot import front_svg

    text = template.render(
        search=report,
        graph=lay_out(report.candidates),
        box={"width": WIDTH, "height": HEIGHT},
        front_svg=front_svg(report),
        ranked=sorted((c for c in report.candidates if c.standing), key=_rank),
    )
    return write_whole(text, path)


def _rank(candidate: SearchedCandidate) -> float:
    return -candidate.standing.mean if candidate.standing else 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A candidate's box, with its upper left corner."""

    candidate: SearchedCandidate
    x: int
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Boxes, curves between them as SVG paths, and the size of all."""

    nodes: tuple[Node, ...]
    edges: tuple[str, ...]
    width: int
    height: int


def lay_out(candidates: Sequence[SearchedCandidate]) -> Graph:
    """Place every candidate right of its parents, in the order of a walk from the roots.

    Parents must come before their children, as in an archive.
    """
    depth: dict[str, int] = {}
    children: dict[str, list[str]] = {}
    for c in candidates:
        depth[c.id] = 1 + max((depth[p] for p in c.parents), default=-1)
        children.setdefault(c.parents[0] if c.parents else "", []).append(c.id)
    order: list[str] = []
    waiting = children.get("", [])[::-1]
    while waiting:
        name = waiting.pop()
        order.append(name)
        waiting += children.get(name, [])[::-1]
    # A first child stands beside its parent; every further one opens a row of its own.
    row: dict[str, int] = {}
    rows = 0
    first = {names[0]: parent for parent, names in children.items() if parent}
    for name in order:
        row[name] = row[first[name]] if name in first else rows
        rows = max(rows, row[name] + 1)
    at = {name: (4 + depth[name] * COLUMN, 4 + row[name] * ROW) for name in order}
    edges = [_curve(at[p], at[c.id]) for c in candidates for p in c.parents]
    nodes = tuple(Node(c, *at[c.id]) for c in candidates)
    width = 8 + WIDTH + COLUMN * max(depth.values(), default=0)
    return Graph(nodes=nodes, edges=tuple(edges), width=width, height=8 + ROW * rows)


def _curve(parent: tuple[int, int], child: tuple[int, int]) -> str:
    x0, y0 = parent[0] + WIDTH, parent[1] + HEIGHT // 2
    x1, y1 = child[0], child[1] + HEIGHT // 2
    bend = (x1 - x0) // 2
    return f"M{x0},{y0} C{x0 + bend},{y0} {x1 - bend},{y1} {x1},{y1}"
