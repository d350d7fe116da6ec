"""Options about work that several processes do together: who is lost, and what becomes of their calls."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oversight.harness.cli.conventions import duration
from oversight.harness.errors import ConfigError

if TYPE_CHECKING:
    from oversight.harness.cluster import RayCrew
    from oversight.harness.config import ModelSection, Study
    from oversight.harness.store import Uncertain


def add_shared_terms(parser: argparse.ArgumentParser) -> None:
    """Add ``--uncertain`` and ``--lease``."""
    lost = (
        "answers under way where a process ended: ask again (retry), or count as failed and never ask (hold)"
    )
    parser.add_argument("--uncertain", choices=["retry", "hold"], help=lost)
    shown = (
        "of several processes on one server's study, one is lost that does not show itself for so long (60s)"
    )
    parser.add_argument("--lease", type=duration, metavar="TIME", help=shown)


def read_shared_terms(args: argparse.Namespace, study: Study) -> tuple[float, Uncertain]:
    """Seconds after which a process is lost, and what becomes of what it had under way.

    Raises
    ------
    ConfigError
        If a study in a file is given a lease, or it is too short.
    """
    from oversight.harness.llm import DEFAULT_LEASE

    if args.lease is not None and not study.has_server:
        raise ConfigError(
            "--lease is for a study in a database on a server: in a file one process works at a time"
        )
    if args.lease is not None and args.lease < 1:
        raise ConfigError(f"--lease: give at least 1s, not {args.lease:g}s")
    uncertain: Uncertain = args.uncertain or "retry"
    return DEFAULT_LEASE if args.lease is None else args.lease, uncertain


def open_crew(args: argparse.Namespace, study: Study, models: Sequence[ModelSection]) -> RayCrew | None:
    """The workers that ``--on`` wants started, of models that they ask; None without it.

    Raises
    ------
    ConfigError
        If options do not go together, or nodes cannot ask a model.
    """
    from oversight.harness.cluster import RayCrew, read_placement

    placement = read_placement(args, has_server=study.has_server)
    if placement is None:
        return None
    if programs := [model.where for model in models if model.python or model.command]:
        raise ConfigError(f"--on ray: nodes do not have {programs[0]!r}; leave its model out")
    return RayCrew(study.store_url, placement, models)
