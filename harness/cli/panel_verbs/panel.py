"""Evaluate annotators and models with a panel, where several annotators label each item with any class.

examples: oversight panel agree                      how well the annotators of this study agree
          oversight panel agree ratings.csv          the same for a file, without a study
          oversight panel certify --model large      whether a model beats the average annotator
          oversight panel parity --model large       model and annotators compared with a vote
"""

from __future__ import annotations

import argparse

from oversight.harness.cli.conventions import add_json
from oversight.harness.cli.panel_verbs import agree, certify, parity

ACTIONS = {"agree": agree, "certify": certify, "parity": parity}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``oversight panel``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(ACTIONS))
    for name, module in ACTIONS.items():
        text = module.__doc__ or ""
        action = actions.add_parser(
            name,
            help=text.partition("\n")[0],
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_json(action)
        module.add_arguments(action)


def run(args: argparse.Namespace) -> None:
    """Run one action."""
    ACTIONS[args.action].run(args)
