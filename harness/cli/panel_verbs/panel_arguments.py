"""Arguments that agree, certify and parity share, and functions that print numbers and write pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oversight.harness.analysis import PanelStudy
from oversight.harness.cli.conventions import add_study, emit, split_names, study_of
from oversight.harness.errors import BadInput
from oversight.harness.output import say
from oversight.harness.panel import LEVELS, Panel
from oversight.harness.platform import write_whole
from oversight.harness.plot import draw_svg
from oversight.harness.report import group_reasons

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.config import Study


def add_panel(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the ratings file, its classes, the level and the picture."""
    add = parser.add_argument
    add(
        "ratings",
        nargs="?",
        help="CSV, Excel, JSON Lines or Parquet file with the columns item, annotator and label, or with a "
        "column item and one column per annotator (default: the ratings in the study's database)",
    )
    add_study(parser)
    add(
        "--classes",
        type=split_names,
        help="comma-separated list of all classes, in order (default: the classes in the ratings)",
    )
    add("--level", type=_level, default=0.95, metavar="LEVEL", help="confidence level (default: 0.95)")
    add("--svg", metavar="FILE", help="write the plot as an SVG file")


def add_model(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add ``--model``."""
    told = "file with the columns item and label, or name of a model of the study"
    parser.add_argument("--model", required=required, action=_OnlyOnce, help=told)


class _OnlyOnce(argparse.Action):
    """Store the value of an option; refuse a repeated option, because argparse would keep only the last."""

    def __call__(
        self, parser: argparse.ArgumentParser, args: argparse.Namespace, value: Any, option: str | None = None
    ) -> None:
        if getattr(args, self.dest) is not None:
            parser.error(f"{option} may be given only once; run the command again for another value")
        setattr(args, self.dest, value)


def read_panel(args: argparse.Namespace) -> tuple[PanelStudy, Panel]:
    """Read the ratings that the command names, or the study's ratings; also return their source.

    If a study file exists, its clusters and its reference also apply to a file of ratings. If none of the
    rated items is in the study, they do not apply, and a message says so.

    Raises
    ------
    BadInput
        If the name of the plot does not end in .svg, or the study has clusters and only some of the rated
        items are in the study.
    ConfigError
        If neither a file nor a study is given, or the study file is invalid.
    DataError
        If the ratings are invalid, or an item of the study has no cluster.
    """
    from oversight.harness.config import STUDY_FILE, read_study

    if args.svg is not None and not args.svg.lower().endswith(".svg"):
        raise BadInput(f"--svg: the name must end in .svg, is {args.svg!r}")
    if args.ratings is not None and args.study == STUDY_FILE and not Path(STUDY_FILE).exists():
        found = PanelStudy(ratings=args.ratings, classes=args.classes)
        return found, found.read_panel()
    study = study_of(args) if args.ratings is None else read_study(args.study)
    found = PanelStudy(
        ratings=args.ratings,
        database=study.store_url,
        classes=args.classes,
        clusters=_read_clusters(study),
        reference=study.reference_file,
    )
    if args.ratings is None or not found.clusters:
        return found, found.read_panel()
    panel = replace(found, clusters={}).read_panel()
    if found.clusters.keys().isdisjoint(panel.items):
        say(
            f"none of the items of {args.ratings} is in {args.study}, so the clusters and the reference of "
            "the study are not used"
        )
        return PanelStudy(ratings=args.ratings, classes=args.classes), panel
    other = next((item for item in panel.items if item not in found.clusters), None)
    if other is not None:
        told = f"{args.ratings}: the item {other!r} is not in {args.study}, whose items are in clusters"
        raise BadInput(f"{told} (items.cluster); run the command in a folder without this study")
    return found, panel.clustered(found.clusters)


def _read_clusters(study: Study) -> dict[str, str]:
    if study.items.cluster is None:
        return {}
    # imported here, because it loads the database code, which is not needed for files
    from oversight.harness.analysis import study_clusters

    return study_clusters(study)


def _level(text: str) -> float:
    """Parse a confidence level; if `text` names a measurement scale, the error suggests ``--measurement``."""
    if text in LEVELS:
        told = f"is the confidence level, such as 0.95; did you mean --measurement {text} of agree?"
        raise argparse.ArgumentTypeError(told)
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number such as 0.95, not {text!r}") from None


def emit_panel(
    args: argparse.Namespace,
    payload: dict[str, Any],
    human: list[Any],
    draw: Callable[[Axes], object] | None,
) -> None:
    """Write the picture for ``--svg`` atomically, and print the result with the picture's name.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    payload["svg"] = None
    if args.svg is not None and draw is not None:
        payload["svg"] = str(write_whole(draw_svg(draw), args.svg))
        human.append(f"wrote {payload['svg']}")
    emit(args, payload, human)


def cluster_lines(
    items: int, clusters: int | None, assumptions: Iterable[str], withheld: Mapping[str, str]
) -> list[str]:
    """Describe items in clusters: their independent units, and the results that are not available for them.

    Returns no lines for items without clusters.
    """
    if clusters is None:
        return []
    return [
        f"{items} items in {clusters} clusters, which are the independent units; assumed: "
        f"{'; '.join(assumptions)}",
        *(
            f"not available for items in clusters: {names}: {why}"
            for names, why in group_reasons(withheld).items()
        ),
    ]
