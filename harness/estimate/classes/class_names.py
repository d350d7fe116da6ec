"""Names of results by class, and what is refused among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oversight.harness.errors import BadInput
from oversight.harness.estimate.classes.cost_table import CostTable
from oversight.harness.expected import check_names

COST = "cost"
BY_CLASS = ("precision", "recall", "f1", "prevalence")
"""Results of one class."""
MACRO = ("macro_precision", "macro_recall", "macro_f1")
"""Their plain means over all classes; `macro_recall` is balanced accuracy."""
METRICS = (*BY_CLASS, *MACRO)
USUAL = ("precision", "recall", "f1", "macro_f1")
"""What is shown where nobody says what to show."""


def check_metrics(metrics: Iterable[str], *, some: bool = True) -> tuple[str, ...]:
    """The metrics, each once.

    Raises
    ------
    BadInput
        If one is not known, or there is none though some are needed.
    """
    check_names("metrics", metrics, "['recall', 'macro_f1']")
    found = tuple(dict.fromkeys(metrics))
    for name in found:
        if name not in METRICS:
            raise BadInput(f"metrics: must be of {', '.join(METRICS)}; {name!r} is none")
    if some and not found:
        raise BadInput(f"metrics: give at least one of {', '.join(METRICS)}")
    return found


def check_classes(classes: Sequence[str], costs: CostTable | None) -> int:
    """Number of the classes, which must be at least 2, differ, and be those of the table of costs."""
    check_names("classes", classes)
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise BadInput(f"classes: there must be at least 2, each once, are {', '.join(map(repr, classes))}")
    if costs is not None and len(costs.costs) != len(classes):
        raise BadInput(f"costs: there are {len(classes)} classes, and the table has {len(costs.costs)}")
    return len(classes)


def name_results(
    metrics: Iterable[str], classes: Sequence[str], costs: CostTable | None
) -> list[tuple[str, str, int]]:
    """Every result as its name, such as ``recall[cardiology]``, its metric, and its class, −1 for all."""
    found = list[tuple[str, str, int]]()
    for metric in metrics:
        each = enumerate(classes) if metric in BY_CLASS else ()
        found += [(f"{metric}[{name}]", metric, k) for k, name in each] or [(metric, metric, -1)]
    return found + [(COST, COST, -1)] * (costs is not None)
