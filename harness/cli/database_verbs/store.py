"""Copy a study's database into another, empty one: from its file to a PostgreSQL server, or back.

Every row is read back and compared, in one transaction: the copy is whole or not there. The study goes on
in the copy once study.toml names it; the old database stays as it is.

example: oversight store copy postgresql://db.example.org/ward     the password comes from PGPASSWORD
         oversight store copy ward-copy.db
"""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.cli.conventions import add_study, emit, study_of
from harness.config import refuse_password
from harness.errors import BadInput
from harness.output import counted
from harness.store import Store, copy_store, has_database


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight store``."""
    parser.add_argument("action", choices=["copy"])
    parser.add_argument("to", metavar="TO", help="a file, or postgresql://USER@HOST/NAME without a password")
    add_study(parser)


def run(args: argparse.Namespace) -> int:
    """Copy the study's database."""
    study = study_of(args)
    try:
        refuse_password(args.to)
    except ValueError as error:
        raise BadInput(f"TO: {error}") from None
    if not has_database(study.store_url):
        raise BadInput("there is no database of this study yet; draw questions with: oversight label route")
    url = args.to if "://" in args.to else f"sqlite:///{Path(args.to)}"
    with Store(study.store_url) as source, Store(url) as target:
        copied = copy_store(source, target)
    rows = sum(copied.values())
    text = f"{counted(rows, 'row')} of {counted(len(copied), 'table')} copied to {args.to} and compared"
    then = f'the study goes on there with this under [study] in {args.study}: store = "{args.to}"'
    emit(args, {"rows": rows, "tables": copied, "to": args.to}, f"{text}\n{then}")
    return 0
