"""Judge annotators and models by a panel: several annotators per item, who choose among all classes.

examples: oversight panel agree                      how well the annotators of the study here agree
          oversight panel agree ratings.csv          the same of a file, without a study
          oversight panel certify --model large      whether a model beats the average annotator
          oversight panel parity --model large       model and annotators against a vote
"""

from __future__ import annotations

import argparse

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
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        module.add_arguments(action)


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    return ACTIONS[args.action].run(args)
