"""Options of all verbs that call models: waiting for other processes, handling lost calls, worker nodes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oversight.harness.config import ModelSection
    from oversight.harness.llm import Workers


def add_shared_terms(parser: argparse.ArgumentParser) -> None:
    """Add ``--wait``, ``--take-over``, ``--uncertain``, and ``--on`` with its options."""
    from oversight.harness.cluster import add_placement

    add = parser.add_argument
    add(
        "--wait",
        action="store_true",
        help="if another command is doing the same work, wait until that command ends",
    )
    ended = "take over the work of a process on another machine; use only if that process has ended"
    add("--take-over", action="store_true", help=ended)
    lost = (
        "how to treat calls that were unfinished when a process ended: retry makes them again, "
        "hold counts them as failed"
    )
    add("--uncertain", choices=["retry", "hold"], help=lost)
    add_placement(parser)


@contextmanager
def read_workers(args: argparse.Namespace, models: Sequence[ModelSection]) -> Iterator[Workers]:
    """Yield the processes that call these models: the workers of ``--on``, or this process.

    Raises
    ------
    ConfigError
        If options contradict each other, or nodes cannot call a model.
    """
    from oversight.harness.cluster import RayWorkers, read_placement
    from oversight.harness.llm import THIS_PROCESS

    placement = read_placement(args)
    if placement is None:
        yield THIS_PROCESS
        return
    with RayWorkers(placement, models) as workers:
        yield workers
