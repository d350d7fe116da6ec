"""Route questions to experts and bring their answers back.

examples: oversight label route
          oversight label export --folder questions
          oversight label import questions/*.csv
          oversight label simulate --key key.csv --abstention 0.03
          oversight label push        questions to Label Studio, see oversight label-studio
          oversight label pull        answers from Label Studio
          oversight label watch --until-width 0.06
          oversight label status
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from harness.cli import add_study, study_of
from harness.config import Study
from protocols.cli.label_files import export_files, import_files, route, simulate
from protocols.cli.label_server import close, pull, push, show_status, watch

_Run = Callable[[argparse.Namespace, Study], int]
_Options = dict[str, dict[str, Any]]

SUB_VERBS: dict[str, tuple[_Run, str, _Options]] = {
    "route": (route, "draw the questions (of a panel: who rates what) and store them", {}),
    "export": (
        export_files,
        "write the open questions, one file per expert",
        {
            "--folder": {"default": "questions", "help": "default: %(default)s"},
            "--format": {"choices": ("csv", "jsonl"), "default": "csv", "help": "default: %(default)s"},
            "--ratings": {"metavar": "FILE", "help": "of a panel: write the ratings that are there"},
        },
    ),
    "import": (
        import_files,
        "read filled-in files; all or nothing",
        {
            "files": {"nargs": "+", "help": "CSV or JSON Lines files that `label export` wrote"},
            "--label-studio": {
                "action": "store_true",
                "help": "the files are Label Studio's JSON exports (not JSON-MIN)",
            },
        },
    ),
    "simulate": (
        simulate,
        "answer the open questions from a sealed key",
        {
            "--key": {"help": "sealed key (columns id,label); presets bring their own"},
            "--sensitivity": {"type": float, "default": 1.0, "help": "P(yes | it is), default 1"},
            "--specificity": {"type": float, "default": 1.0, "help": "P(no | it is not), default 1"},
            "--abstention": {"type": float, "default": 0.0, "help": "P(unsure), default 0"},
            "--seed": {"type": int, "help": "default: the study's"},
        },
    ),
    "push": (push, "send the questions to Label Studio, one project per expert", {}),
    "pull": (
        pull,
        "bring answers from Label Studio; only what changed",
        {"--full": {"action": "store_true", "help": "read every task again, not only changed ones"}},
    ),
    "watch": (
        watch,
        "pull again and again, with progress and the running estimate",
        {
            "--every": {"type": float, "default": 15.0, "help": "seconds between pulls, default 15"},
            "--until-width": {"type": float, "help": "stop when every model's interval is this narrow"},
            "--model": {"action": "append", "help": "name of a model that was run; may be repeated"},
            "--webhook": {
                "type": int,
                "metavar": "PORT",
                "help": "have a server on this machine wake the next pull early",
            },
            "--once": {"action": "store_true", "help": "look once and stop"},
        },
    ),
    "close": (
        close,
        "pull a last time and end the campaign",
        {"--delete": {"action": "store_true", "help": "delete the projects on the server afterwards"}},
    ),
    "status": (show_status, "who was asked what, and what came back", {}),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-verbs of ``oversight label``."""
    verbs = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, (_, text, options) in SUB_VERBS.items():
        sub = verbs.add_parser(name, help=text, description=text)
        add_study(sub)
        sub.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        for flag, settings in options.items():
            sub.add_argument(flag, **settings)


def run(args: argparse.Namespace) -> int:
    """Run one sub-verb."""
    return SUB_VERBS[args.action][0](args, study_of(args))
