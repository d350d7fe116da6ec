"""``oversight model``: the small local language model, so that a study can be tried without a key."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from oversight.harness.cli.conventions import emit
from oversight.harness.llm import find_local_model, start_local_model, stop_local_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``oversight model`` takes."""
    parser.description = (
        "Run a small language model (SmolLM2-135M-Instruct) on this machine, behind an OpenAI-compatible "
        "server that only this machine reaches. The first start installs its weights, 93 MB."
    )
    parser.add_argument("action", choices=("start", "stop", "status"), help="what to do")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: any free one)")


def run(args: argparse.Namespace) -> int:
    """Do what ``oversight model`` was asked; 1 if ``status`` finds no server."""
    if args.action == "stop":
        stopped = stop_local_model()
        emit(args, {"stopped": stopped}, "stopped" if stopped else "was not running")
        return 0
    server = start_local_model(args.port) if args.action == "start" else find_local_model()
    if server is None:
        emit(args, {"running": False}, "not running; start it with: oversight model start")
        return 1
    text = f"{server.model} answers at {server.url} (process {server.pid}, log {server.log})"
    emit(args, {"running": True} | asdict(server), text)
    return 0
