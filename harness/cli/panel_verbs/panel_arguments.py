"""Arguments that agree, certify and parity share, and how they print numbers and write pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from oversight.harness.analysis import PanelStudy
from oversight.harness.cli.conventions import add_study, emit, split_names, study_of
from oversight.harness.machine import write_whole
from oversight.harness.panel import LEVELS

if TYPE_CHECKING:
    from oversight.harness.config import Study


def add_panel(parser: argparse.ArgumentParser) -> None:
    """Add the ratings file, its classes, the level and the picture."""
    add = parser.add_argument
    add(
        "ratings",
        nargs="?",
        help="CSV, Excel, JSON Lines or Parquet file with columns item, annotator and label, or with item "
        "and one column per annotator (default: the ratings in the study's database)",
    )
    add_study(parser)
    add(
        "--classes",
        type=split_names,
        help="comma-separated list of all classes, in order (default: the classes in the ratings)",
    )
    add("--level", type=_level, default=0.95, metavar="LEVEL", help="confidence level (default: 0.95)")
    add("--svg", metavar="FILE", help="write the plot as an SVG file")


def panel_study(args: argparse.Namespace) -> PanelStudy:
    """The ratings that the command names, or those of the study.

    Raises
    ------
    ConfigError
        If there is neither a file nor a study.
    DataError
        If an item of the study has no cluster.
    """
    study = study_of(args) if args.ratings is None else None
    return PanelStudy(
        ratings=args.ratings,
        database="" if study is None else study.store_url,
        classes=args.classes,
        clusters={} if study is None else _clusters(study),
        reference=None if study is None else study.reference_file,
    )


def _clusters(study: Study) -> dict[str, str]:
    from oversight.harness.analysis import (
        study_clusters,  # loads the database's tables, which files need not pay
    )

    return study_clusters(study)


def _level(text: str) -> float:
    """A confidence level; ``--level`` was once what the labels are on."""
    if text in LEVELS:
        told = f"is the confidence level, such as 0.95; did you mean --measurement {text} of agree?"
        raise argparse.ArgumentTypeError(told)
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number such as 0.95, not {text!r}") from None


def emit_panel(
    args: argparse.Namespace, payload: dict[str, Any], human: list[Any], draw: Callable[[], str] | None
) -> None:
    """Write the picture that ``--svg`` asks for, whole or not at all, and print with its name.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    payload["svg"] = None
    if args.svg is not None and draw is not None:
        payload["svg"] = str(write_whole(draw(), args.svg))
        human.append(f"wrote {payload['svg']}")
    emit(args, payload, human)


def cluster_lines(
    items: int, clusters: int | None, assumptions: Iterable[str], withheld: Mapping[str, str]
) -> list[str]:
    """The independent units of items in clusters, and which results such items do not give.

    Nothing of other items.
    """
    if clusters is None:
        return []
    by_reason: dict[str, list[str]] = {}
    for name, why in withheld.items():
        by_reason.setdefault(why, []).append(name)
    return [
        f"{items} items in {clusters} clusters, which are the independent units; assumed: "
        f"{'; '.join(assumptions)}",
        *(
            f"not available for items in clusters: {', '.join(names)}: {why}"
            for why, names in by_reason.items()
        ),
    ]
