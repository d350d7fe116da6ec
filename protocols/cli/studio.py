"""Start, stop and find a Label Studio server of one's own on this machine.

examples: oversight label-studio start
          oversight label-studio start --public-url https://labels.example.org
          oversight label-studio status
          oversight label-studio stop

The first start installs Label Studio in an environment of its own (0.8 GB in the user's cache). It
listens on this machine alone and sends nothing anywhere. The admin's password is in the file that
``status`` names.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from oversight.harness import ConfigError
from oversight.harness.cli import add_study, emit
from oversight.harness.config import read_study
from oversight.protocols.collect import MAIN, find_server, make_server_name, start_server, stop_server
from oversight.protocols.routing import read_roster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight label-studio``."""
    add = parser.add_argument
    add_study(parser)
    add("action", choices=("start", "stop", "status"), help="what to do")
    add("--port", type=int, default=0, help="port to listen on (default: any free one)")
    behind = "address by which others reach it, through a proxy with TLS on this machine"
    add("--public-url", metavar="URL", default="", help=behind)


def run(args: argparse.Namespace) -> int:
    """Do what was asked; 1 if ``status`` finds a server missing."""
    names = _names(args)
    if args.action == "stop":
        stopped = [name for name in names if stop_server(name)]
        text = f"stopped: {', '.join(stopped)}" if stopped else "was not running"
        emit(args, {"stopped": stopped}, text)
        return 0
    if args.action == "start":
        found = {name: start_server(name, args.port, public_url=args.public_url) for name in names}
    else:
        found = {name: there for name in names if (there := find_server(name)) is not None}
    lines = [
        f"{name}: {s.url} (process {s.pid}); log in as {s.admin}, password in {s.public['secrets']}"
        for name, s in found.items()
    ]
    lines += [f"{name}: not running; oversight label-studio start" for name in names if name not in found]
    running = len(found) == len(names)
    servers = {name: s.public for name, s in found.items()}
    emit(args, {"running": running, "servers": servers}, "\n".join(lines))
    return 0 if running else 1


def _names(args: argparse.Namespace) -> list[str]:
    """The servers of the study: one per expert if it says ``isolated = true``."""
    study = read_study(args.study) if Path(args.study).exists() else None
    if study is None or not study.label_studio.isolated:
        return [MAIN]
    roster = read_roster(study.path(study.experts.roster))
    if args.port:
        raise ConfigError("--port fits one server, not one per expert: leave it out")
    if args.public_url:
        raise ConfigError("--public-url fits one server, not one per expert: leave it out")
    return [make_server_name(study.study.name, expert.name) for expert in roster.experts]
