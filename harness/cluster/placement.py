"""Options for workers on a Ray cluster: which cluster, how many, with which resources."""

from __future__ import annotations

import argparse
import os
import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from oversight.harness.distribution import require
from oversight.harness.errors import ConfigError

_ALONE = ("ray_address", "workers", "worker_resources", "serve")
"""Options that say nothing without ``--on ray``."""
_ANSWERS = 10.0
"""Seconds that a cluster has to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Placement of workers.

    Attributes
    ----------
    address
        Address of the cluster, as for `ray.init`; None starts one on this machine while it is needed.
    workers
        Number of workers; None for one per node that has room for one.
    resources
        Resources of a worker on its node, by Ray's names: ``CPU``, ``GPU``, ``memory``, and the cluster's
        own.
    serve
        Words of a command that serves the model on every node; empty starts none.
    """

    address: str | None = None
    workers: int | None = None
    resources: Mapping[str, float]
    serve: tuple[str, ...] = ()


def add_placement(parser: argparse.ArgumentParser) -> None:
    """Add ``--on ray`` and its options."""
    add = parser.add_argument
    add("--on", choices=["ray"], help="make calls from the nodes of a Ray cluster")
    where = "of the cluster that this node is in: auto, HOST:PORT (default: RAY_ADDRESS, else one of its own)"
    add("--ray-address", metavar="ADDRESS", help=where)
    add("--workers", type=int, metavar="N", help="number of workers (default: one per node)")
    takes = "what a worker takes of its node, as CPU=1,GPU=1 (default: CPU=1)"
    add("--worker-resources", metavar="NAME=N,...", help=takes)
    add("--serve", metavar="COMMAND", help="serve the model on every node: 'vllm serve NAME --port 8000'")


def read_placement(args: argparse.Namespace) -> Placement | None:
    """Read these options; None without ``--on``.

    Raises
    ------
    ConfigError
        If they contradict each other, or Ray is not installed.
    """
    if args.on is None:
        if given := [name for name in _ALONE if getattr(args, name) is not None]:
            raise ConfigError(f"--{given[0].replace('_', '-')} goes with --on ray")
        return None
    if args.workers is not None and args.workers < 1:
        raise ConfigError(f"--workers: give a number ≥ 1, not {args.workers}")
    require("ray", "--on ray", "ray")
    return Placement(
        address=_read_address(args.ray_address or os.environ.get("RAY_ADDRESS")),
        workers=args.workers,
        resources=_read_resources(args.worker_resources or "CPU=1"),
        serve=_read_command(args.serve),
    )


def _read_address(text: str | None) -> str | None:
    """Return the address for Ray; refuse one that does not answer, because Ray would wait for minutes."""
    if not text or text == "local":
        return None
    if text == "auto":
        return text
    if "://" in text:
        raise ConfigError(
            f"--ray-address: {text}: give auto or HOST:PORT, on a node of the cluster (from elsewhere with: "
            "ray job submit -- oversight run --on ray --ray-address auto)"
        )
    host, _, port = text.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS):
            return text
    except (OSError, ValueError):
        raise ConfigError(f"--ray-address: nothing answers at {text!r}; give auto, or HOST:PORT") from None


def _read_resources(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, amount = part.strip().partition("=")
        try:
            found[name] = float(amount)
        except ValueError:
            found[name] = -1.0
        if not name or not 0 <= found[name] < float("inf"):
            raise ConfigError(f"--worker-resources: give NAME=N,..., such as CPU=1, not {part.strip()!r}")
    return found


def _read_command(text: str | None) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text or ""))
    except ValueError as error:
        raise ConfigError(f"--serve: {error}") from None
    if text is not None and not words:
        raise ConfigError("--serve: give a command and its arguments")
    return words
