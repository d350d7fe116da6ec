"""What agree, certify and parity share: reading panels, and saving pictures."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.ratings import read_choices, read_ratings
from harness.errors import BadInput, ConfigError
from harness.panel.ratings import IntArray, Panel, panel_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_panel(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the ratings file and what its columns are called."""
    parser.add_argument(
        "ratings",
        nargs=None if required else "?",
        help="CSV, JSON Lines or Parquet with the columns item, annotator, label; one row a rating",
    )
    parser.add_argument("--item", default="item", metavar="COLUMN", help="default: %(default)s")
    parser.add_argument("--annotator", default="annotator", metavar="COLUMN", help="default: %(default)s")
    parser.add_argument("--label", default="label", metavar="COLUMN", help="default: %(default)s")
    parser.add_argument("--classes", help="all classes in their order, by commas (default: those seen)")
    parser.add_argument("--confidence", type=float, default=0.95, help="confidence level, default 0.95")
    parser.add_argument("--seed", type=int, default=0, help="of every random draw, default 0")
    parser.add_argument("--svg", metavar="FILE", help="write the picture there")


def panel_from(args: argparse.Namespace) -> Panel:
    """Read the panel that the command names."""
    classes = class_names(args)
    ratings = read_ratings(
        args.ratings, item=args.item, annotator=args.annotator, label=args.label, classes=classes
    )
    return panel_of(ratings, classes)


def class_names(args: argparse.Namespace) -> list[str] | None:
    """Split ``--classes``."""
    return None if args.classes is None else [c.strip() for c in args.classes.split(",") if c.strip()]


def choices(args: argparse.Namespace, panel: Panel, path: str, name: str, *, partial: bool) -> IntArray:
    """One class per item of the panel from a file; −1 where it is empty.

    Parameters
    ----------
    partial
        Whether items may be left out of the file (an oracle on some items), −1 for them.

    Raises
    ------
    DataError
        Naming file, line and field.
    EstimateError
        Naming the item that is left out.
    """
    found = read_choices(path, item=args.item, label=args.label, classes=panel.classes)
    stray = next((i for i in found if i not in set(panel.items)), None) if not partial else None
    if stray is not None:
        raise BadInput(f"{path}: the item {stray!r} has no rating in {args.ratings}")
    if partial:
        found = {i: found.get(i) for i in panel.items}
    return panel.codes(f"{name} in {path}", {i: found[i] for i in panel.items if i in found})


def save_picture(path: str | None, draw: Callable[[], str]) -> str | None:
    """Write an SVG whole or not at all; return its name.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    if path is None:
        return None
    try:
        svg = draw()
    except ImportError as error:
        raise ConfigError(f"pictures need: pip install 'oversight[report]' ({error})") from None
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with part.open("w", encoding="utf-8") as stream:
        stream.write(svg)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(target)
    return str(target)


def plain(value: Any) -> Any:
    """Dataclasses to dictionaries, arrays to lists, nan to None: what JSON can hold."""
    return _plain(asdict(value))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def interval(low: float | None, high: float | None) -> str:
    """``[0.312, 0.401]``, empty without one."""
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def number(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"
