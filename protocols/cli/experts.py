"""Give the experts of a study accounts on Label Studio, see who has none, and how well each does.

examples: oversight experts invite             makes the accounts, prints each password once
          oversight experts invite --link      prints a link for each to sign up with their address
          oversight experts list               only looks
          oversight experts quality            error rates, steadiness and drift, by control questions
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from harness import BadInput
from harness.analysis import read_quality
from harness.cli import add_study, emit, study_of
from harness.config import Study
from harness.report import quality_table, quality_to_json
from harness.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight experts``."""
    add_study(parser)
    parser.add_argument("action", choices=("invite", "list", "quality"), help="what to do")
    parser.add_argument("--link", action="store_true", help="give links to sign up instead of passwords")


def run(args: argparse.Namespace) -> int:
    """Do what was asked."""
    study = study_of(args)
    if args.action == "quality":
        return _show_quality(args, study)
    from rich.table import Table

    from protocols.collect import Campaign, invite

    with Store(study.store_url) as store, Campaign(study, store) as campaign:
        accounts = invite(campaign, link=args.link, check=args.action == "list")
    table = Table("expert", "classes", "logs in as", "password or link", title="Accounts")
    for a in accounts:
        secret = a.password or a.link or ("has an account" if a.exists else "no account")
        table.add_row(a.expert, ", ".join(a.classes), a.email, secret)
    table.caption = "A password is shown this once and stored nowhere: hand it on now."
    emit(args, {"accounts": [asdict(a) for a in accounts]}, table)
    return 0


def _show_quality(args: argparse.Namespace, study: Study) -> int:
    if args.link:
        raise BadInput("--link is for accounts: oversight experts invite --link")
    with Store(study.store_url) as store:
        quality = read_quality(study, store)
    if not quality:
        raise BadInput(
            'there are no control questions; name gold = "key.csv", repeat or overlap under [experts] and '
            "draw them with: oversight label route"
        )
    emit(args, {"quality": quality_to_json(quality)}, quality_table(quality))
    return 0
