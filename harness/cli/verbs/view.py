"""Open the study's page: labels arriving, intervals closing, every item behind every number.

The page is served on this machine alone, to whoever has the address printed; it reads and never writes.

example: oversight view
         oversight view --no-browser --port 0 --json
"""

from __future__ import annotations

import argparse
import json
import sys
import webbrowser

from harness.cli.conventions import add_study, study_of
from harness.errors import ConfigError
from harness.output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight view``."""
    add_study(parser)
    parser.add_argument("--port", type=int, default=8642, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--expose",
        metavar="ADDRESS",
        help="listen at this address of this machine (0.0.0.0: all), so that other machines may ask; whoever "
        "has the printed address reads the whole study, and what is sent is not encrypted",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    from harness.view import serve_study

    if not 0 <= args.port <= 65535:
        raise ConfigError(f"--port must be 0 to 65535, is {args.port}")

    def ready(url: str) -> None:
        if args.json:
            sys.stdout.write(json.dumps({"url": url}) + "\n")
            sys.stdout.flush()
        else:
            say(f"{url}\nCtrl-C stops it")
        if not args.no_browser:
            webbrowser.open(url)

    serve_study(study_of(args), host=args.expose or "127.0.0.1", port=args.port, ready=ready)
    return 0
