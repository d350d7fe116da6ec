"""Arguments that agree, certify and parity share, and how they print numbers and write pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from harness.analysis import PanelStudy
from harness.cli.conventions import add_study, study_of
from harness.errors import ConfigError
from harness.machine import write_whole


def add_panel(parser: argparse.ArgumentParser) -> None:
    """Add the ratings file and what its columns are called."""
    add = parser.add_argument
    add(
        "ratings",
        nargs="?",
        help="CSV, JSON Lines or Parquet with the columns item, annotator, label; one row a rating "
        "(default: those in the study's database)",
    )
    add_study(parser)
    for column in ("item", "annotator", "label"):
        add(f"--{column}", default=column, metavar="COLUMN", help="default: %(default)s")
    add("--classes", type=split_names, help="all classes in their order, by commas (default: those seen)")
    add("--confidence", type=float, default=0.95, help="confidence level, default 0.95")
    add("--seed", type=int, default=0, help="of every random draw, default 0")
    add("--svg", metavar="FILE", help="write the picture there")


def panel_study(args: argparse.Namespace) -> PanelStudy:
    """The ratings that the command names, or those of the study.

    Raises
    ------
    ConfigError
        If there is neither a file nor a study.
    """
    return PanelStudy(
        ratings=args.ratings,
        database=study_of(args).store_url if args.ratings is None else "",
        item=args.item,
        annotator=args.annotator,
        label=args.label,
        classes=args.classes,
    )


def split_names(text: str) -> list[str]:
    """Names that stand between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


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
    return str(write_whole(svg, path))


def to_json(value: Any) -> Any:
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


def format_number(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"
