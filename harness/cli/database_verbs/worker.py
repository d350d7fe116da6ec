"""Work on what was begun on a study in a PostgreSQL database, from any machine: runs, workflows, searches.

What is asked stands in the database, and so do rates and budgets, which all workers keep together; only the
endpoints' keys come from this machine's environment. No study.toml is needed, and no item is asked about
twice. Give the address of a database whose writers you trust: a key goes to the endpoint that they name.

example: oversight worker --join postgresql://db.example.org/ward     the password comes from PGPASSWORD
         oversight worker --join postgresql://db.example.org/ward --stay
"""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from typing import Any

from oversight.harness.cli.conventions import emit
from oversight.harness.cli.verbs import describe_run
from oversight.harness.config import refuse_password
from oversight.harness.errors import BadInput
from oversight.harness.output import counted, say
from oversight.harness.registry import load_module
from oversight.harness.store import Store

_LOOK = 1.0
"""Seconds between two looks for a run that has begun."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight worker``."""
    url = "postgresql://USER@HOST/NAME without a password"
    parser.add_argument("--join", required=True, metavar="URL", help=url)
    parser.add_argument("--stay", action="store_true", help="wait for other runs until a signal comes")


def run(args: argparse.Namespace) -> int:
    """Join what is open, and with ``--stay`` what comes; 1 if a model was stopped or any item failed."""
    from oversight.harness.analysis import join_study_runs

    try:
        refuse_password(args.join)
    except ValueError as error:
        raise BadInput(f"--join: {error}") from None
    if "://" not in args.join or args.join.startswith("sqlite"):
        raise BadInput(
            "--join: give the address of a database on a server; on a file one process works at a time"
        )
    known, results, programs = set[str](), dict[str, Any](), dict[str, Any]()
    # Named as a string: nothing here imports upwards.
    help_works = load_module("oversight.agents.runtime").help_works
    # a signal is how a worker that stays comes to its end
    with Store(args.join) as store, suppress(*[KeyboardInterrupt] * args.stay):
        results |= join_study_runs(store, known)
        help_works(store, known, programs)
        if args.stay:
            say("waiting for work; stop with Ctrl-C")
        while args.stay:
            time.sleep(_LOOK)
            results |= join_study_runs(store, known)
            help_works(store, known, programs)
    if not results and not programs:
        say("no run is under way there; begin one with oversight run, or wait for one with --stay")
    lines = [describe_run(name, result) for name, result in results.items()]
    lines += [f"{name}: {counted(result['asked_now'], 'item')} answered" for name, result in programs.items()]
    emit(args, {"models": results, "programs": programs}, "\n".join(lines))
    for name, result in programs.items():
        if "stopped" in result:
            say(f"oversight: {name}: {result['stopped']}")
    failed = any(result["failed"] or "stopped" in result for result in results.values())
    return 1 if failed or any("stopped" in result for result in programs.values()) else 0
