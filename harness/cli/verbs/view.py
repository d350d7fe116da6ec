"""Open the study's page in a browser: arriving labels, estimates with intervals, and the items behind them.

The page can be opened only on this machine, by anyone who has the printed address. It never changes the
study. With --json the address is printed as JSON, and no browser opens.

example: oversight view
         oversight view --port 0 --json
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import webbrowser
from urllib.parse import urlsplit

from oversight.harness.cli.conventions import add_study, check_address, leave_threads, study_of
from oversight.harness.output import reveal
from oversight.harness.platform import cache_dir, write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight view``."""
    add_study(parser)
    parser.add_argument(
        "--port",
        type=int,
        default=8642,
        help="port to listen on; 0 chooses a free port (default: %(default)s)",
    )
    parser.add_argument(
        "--expose",
        metavar="ADDRESS",
        help="listen at this address of this machine, so that other machines can connect; 0.0.0.0 stands "
        "for all its addresses. Anyone with the printed address can read the whole study; traffic is not "
        "encrypted (default: 127.0.0.1)",
    )


def write_door(url: str) -> str:
    """Write a private file that redirects to the page, and return the file's address.

    The page's own address must not be an argument of the browser, because other users of this machine can see
    the arguments of programs.
    """
    text = f'<!doctype html><meta http-equiv="refresh" content="0; url={url}"><title>oversight</title>'
    path = cache_dir() / "view" / f"open-{urlsplit(url).port}.html"
    return write_whole(text, path, mode=0o600).as_uri()


def run(args: argparse.Namespace) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    from oversight.harness.view import serve_study

    host = "127.0.0.1" if args.expose is None else args.expose
    check_address(args.port, host, "--expose")

    def ready(url: str) -> None:
        reveal(url)
        sys.stdout.write(
            (json.dumps({"url": url}) if args.json else f"{url}\nCtrl-C stops the server") + "\n"
        )
        sys.stdout.flush()
        if not args.json:  # in a thread, because a text-mode browser returns only when it is closed
            threading.Thread(target=webbrowser.open, args=(write_door(url),), daemon=True).start()

    serve_study(study_of(args), host=host, port=args.port, ready=ready, file=args.study)
    leave_threads()
