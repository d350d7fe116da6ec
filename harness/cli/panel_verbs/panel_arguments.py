"""Arguments that agree, certify and parity share, and functions that print numbers and write pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from oversight.harness.analysis import PanelStudy
from oversight.harness.cli.conventions import add_study, emit, split_names, study_of
from oversight.harness.errors import BadInput
from oversight.harness.panel import LEVELS
from oversight.harness.platform import write_whole
from oversight.harness.plot import LEAST_HEIGHT, draw_svg
from oversight.harness.report import group_reasons

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def panel_study(args: argparse.Namespace) -> PanelStudy:
    """Return the ratings that the command names, or the study's ratings.

    Raises
    ------
    BadInput
        If the name of the plot does not end in .svg.
    ConfigError
        If neither a file nor a study is given.
    DataError
        If an item of the study has no cluster.
    """
    if args.svg is not None and not args.svg.lower().endswith(".svg"):
        raise BadInput(f"--svg: the name must end in .svg, is {args.svg!r}")
    if args.ratings is not None:
        return PanelStudy(ratings=args.ratings, classes=args.classes)
    # imported here, because it loads the database code, which is not needed for files
    from oversight.harness.analysis import study_clusters

    study = study_of(args)
    return PanelStudy(
        database=study.store_url,
        classes=args.classes,
        clusters=study_clusters(study),
        reference=study.reference_file,
    )


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
    height: float = LEAST_HEIGHT,
) -> None:
    """Write the picture for ``--svg`` atomically, and print the result with the picture's name.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    payload["svg"] = None
    if args.svg is not None and draw is not None:
        payload["svg"] = str(write_whole(draw_svg(draw, height), args.svg))
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
