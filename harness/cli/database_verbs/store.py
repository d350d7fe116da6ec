"""Copy a study's database into another, empty one: from its file to a PostgreSQL server, or back.

Every row is read back and compared, in one transaction: the copy is whole or not there. It may be made while
commands and pages write, and holds the study as of one moment. The copy is marked: it can be read, and
collects nothing until `oversight store adopt` makes it the study. The old database must not be used then.

example: oversight store copy postgresql://db.example.org/ward     the password comes from PGPASSWORD
         oversight store copy ward-copy.db
         oversight store adopt     once study.toml names the copy, or the copy lies under the study's name
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
    parser.add_argument("action", choices=["copy", "adopt"])
    parser.add_argument(
        "to", nargs="?", metavar="TO", help="copy: a file, or postgresql://USER@HOST/NAME without a password"
    )
    add_study(parser)


def run(args: argparse.Namespace) -> int:
    """Copy the study's database, or make a copy the study."""
    study = study_of(args)
    if (args.action == "copy") != (args.to is not None):
        raise BadInput("TO: name the new database with copy, and none with adopt")
    if args.action == "adopt":
        return _adopt(args, study.store_url)
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
    then = (
        "the copy is marked: it can be read, and collects nothing; to go on there, name it under [study] in "
        f'{args.study}: store = "{args.to}", and make it the study with: oversight store adopt'
    )
    emit(args, {"rows": rows, "tables": copied, "to": args.to}, f"{text}\n{then}")
    return 0


def _adopt(args: argparse.Namespace, url: str) -> int:
    if not has_database(url):
        raise BadInput("there is no database of this study; name the copy as store in study.toml first")
    with Store(url) as store:
        copy, shown = store.marks.adopt(), store.shown
    if copy is None:
        raise BadInput(f"{shown}: this database is no copy; it collects already")
    text = f"{shown} is the study now; it was {copy}; do not use the old database any more: answers given "
    emit(
        args, {"adopted": shown, "source": copy.source, "copied_at": copy.copied_at}, text + "there are lost"
    )
    return 0
