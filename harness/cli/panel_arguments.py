"""What agree, certify and parity share: panels from files or from the study, and pictures."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis import find_newest_runs
from harness.arrays import IntArray
from harness.cli.study_arguments import add_study, study_of
from harness.datasets import read_choices, read_ratings
from harness.errors import BadInput, ConfigError
from harness.panel import Panel, make_panel
from harness.store import Store
from harness.types import PredictionStatus


def add_panel(parser: argparse.ArgumentParser) -> None:
    """Add the ratings file and what its columns are called."""
    parser.add_argument(
        "ratings",
        nargs="?",
        help="CSV, JSON Lines or Parquet with the columns item, annotator, label; one row a rating "
        "(default: those in the study's database)",
    )
    add_study(parser)
    parser.add_argument("--item", default="item", metavar="COLUMN", help="default: %(default)s")
    parser.add_argument("--annotator", default="annotator", metavar="COLUMN", help="default: %(default)s")
    parser.add_argument("--label", default="label", metavar="COLUMN", help="default: %(default)s")
    parser.add_argument("--classes", help="all classes in their order, by commas (default: those seen)")
    parser.add_argument("--confidence", type=float, default=0.95, help="confidence level, default 0.95")
    parser.add_argument("--seed", type=int, default=0, help="of every random draw, default 0")
    parser.add_argument("--svg", metavar="FILE", help="write the picture there")


def panel_from(args: argparse.Namespace) -> Panel:
    """Read the panel that the command names, or the study's.

    Raises
    ------
    DataError
        If a file is wrong, named by line and field, or there is neither a file nor a study.
    BadInput
        If the study has no ratings.
    """
    classes = class_names(args)
    if args.ratings is None:
        return _panel_of_study(args, classes)
    ratings = read_ratings(
        args.ratings, item=args.item, annotator=args.annotator, label=args.label, classes=classes
    )
    return make_panel(ratings, classes)


def _panel_of_study(args: argparse.Namespace, classes: list[str] | None) -> Panel:
    with Store(study_of(args).store_url) as store:
        ratings, items = store.panel.read_ratings(), store.content.read_items()
    if not ratings:
        raise BadInput("the study has no ratings; give a file, or collect them: oversight label --help")
    return make_panel(ratings, classes or list(dict.fromkeys(o for item in items for o in item.options)))


def model_choices(args: argparse.Namespace, panel: Panel) -> IntArray:
    """The model's class of every item of the panel, −1 where unreadable; from a file, or a run of the study.

    Raises
    ------
    DataError
        Naming file, line and field.
    BadInput
        If there is neither such a file nor such a run.
    EstimateError
        Naming the item that has no prediction.
    """
    if args.ratings is not None or Path(args.model).exists():
        return read_model_choices(args, panel, args.model, "predictions", partial=False)
    with Store(study_of(args).store_url) as store:
        (run,) = find_newest_runs(store.runs.read_runs(), [args.model])
        options = {item.id: item.options for item in store.content.read_items()}
        predicted = {
            p.item_id: None if p.option is None else options[p.item_id][p.option]
            for p in store.runs.read_predictions(run["id"])
            if p.status is not PredictionStatus.FAILED
        }
    return panel.codes(
        f"predictions of {args.model}", {i: predicted[i] for i in panel.items if i in predicted}
    )


def class_names(args: argparse.Namespace) -> list[str] | None:
    """Split ``--classes``."""
    return None if args.classes is None else [c.strip() for c in args.classes.split(",") if c.strip()]


def read_model_choices(
    args: argparse.Namespace, panel: Panel, path: str, name: str, *, partial: bool
) -> IntArray:
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
        raise BadInput(f"{path}: the item {stray!r} has no rating in {args.ratings or 'the study'}")
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


def format_interval(low: float | None, high: float | None) -> str:
    """``[0.312, 0.401]``, empty without one."""
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def format_number(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"
