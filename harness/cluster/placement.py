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

_ALONE = ("workers", "serve")
"""Options that have an effect only with ``--on``."""
_ANSWERS = 10.0
"""Seconds within which a cluster must answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Placement of workers on a cluster.

    Attributes
    ----------
    address
        Address of the cluster, as for `ray.init`; None starts a temporary cluster on this machine.
    workers
        Number of workers; None for one per node with enough resources.
    resources
        Resources of a worker on its node, by Ray's names: ``CPU``, ``GPU``, ``memory``, and the cluster's
        own.
    serve
        Words of a command that serves the model on every node; if empty, no server is started.
    """

    address: str | None = None
    workers: int | None = None
    resources: Mapping[str, float]
    serve: tuple[str, ...] = ()


def add_placement(parser: argparse.ArgumentParser) -> None:
    """Add ``--on`` and its options."""
    add = parser.add_argument
    where = (
        "make calls from the nodes of a Ray cluster: auto (the cluster of this node), HOST:PORT (the cluster "
        "at this address) or ray (the cluster in RAY_ADDRESS, or else a new local cluster)"
    )
    add("--on", metavar="CLUSTER", help=where)
    workers = (
        "with --on: number of workers (default: one per node) and the resources that each worker "
        "reserves (default: CPU=1), for example 4,CPU=1,GPU=1"
    )
    add("--workers", metavar="N,NAME=N,...", help=workers)
    add(
        "--serve",
        metavar="COMMAND",
        help="with --on: command that serves the model on each node, such as 'vllm serve NAME --port 8000'",
    )


def read_placement(args: argparse.Namespace) -> Placement | None:
    """Return the placement that the options describe; None without ``--on``.

    Raises
    ------
    ConfigError
        If the options contradict each other, or Ray is not installed.
    """
    if args.on is None:
        if given := [name for name in _ALONE if getattr(args, name) is not None]:
            raise ConfigError(f"--{given[0].replace('_', '-')} needs --on")
        return None
    number, resources = _read_workers(args.workers)
    require("ray", "--on", "ray")
    return Placement(
        address=_read_address(os.environ.get("RAY_ADDRESS") if args.on == "ray" else args.on),
        workers=number,
        resources=resources,
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
            f"--on: {text}: give auto or HOST:PORT on a node of the cluster (from elsewhere: "
            "ray job submit -- oversight run --on auto)"
        )
    host, _, port = text.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS):
            return text
    except (OSError, ValueError):
        raise ConfigError(f"--on: no cluster answers at {text!r}; give auto, HOST:PORT or ray") from None


def _read_workers(text: str | None) -> tuple[int | None, dict[str, float]]:
    """Return the number of workers (None if not given), and the resources that each reserves on its node."""
    number, resources = None, dict[str, float]()
    for part in map(str.strip, [] if text is None else text.split(",")):
        name, is_resource, amount = part.partition("=")
        try:
            value = float(amount) if is_resource else int(part)
        except ValueError:
            value = -1.0
        if is_resource and name and 0 <= value < float("inf"):
            resources[name] = value
        elif not is_resource and number is None and value >= 1:
            number = int(value)
        else:
            raise ConfigError(f"--workers: give a number ≥ 1 and NAME=N, such as 4,GPU=1, not {part!r}")
    return number, resources or {"CPU": 1.0}


def _read_command(text: str | None) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text or ""))
    except ValueError as error:
        raise ConfigError(f"--serve: {error}") from None
    if text is not None and not words:
        raise ConfigError("--serve: give a command and its arguments")
    return words
