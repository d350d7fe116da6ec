"""Copy or move a study's database to a file or a PostgreSQL server, verify it, or upgrade it.

`copy` needs an empty target. It compares every copied row in one transaction, so the copy is either complete
or absent. Other commands may write to the study meanwhile; the copy holds the state of one moment. The copy
is marked as read-only and collects no answers until `oversight store adopt` makes it the study's database.
After that, do not use the old database.

example: oversight store copy postgresql://db.example.org/ward     the password comes from PGPASSWORD
         oversight store copy ward-copy.db
         oversight store move postgresql://db.example.org/ward     also changes store in study.toml
         oversight store adopt     after study.toml names the copy, or the copy has replaced the old file
         oversight store verify --head 3f2a...          a head that you noted earlier
         oversight store verify audit.jsonl             a file written by `label audit`
         oversight store upgrade   copies the database of an older version

`verify` checks that nothing was altered. It checks the hash links of all events, compares answers and
comments with their events, and compares the drawn questions with the frozen design. Without a noted head, it
cannot detect that somebody rewrote the whole database or file.

`upgrade` copies the study into a new database of this version: a file beside the old one, or a schema in the
same PostgreSQL database. The old database is only read and remains as a backup. At the end study.toml names
the new database. If the command is killed, run it again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from oversight.harness.cli.conventions import add_actions, emit, study_of
from oversight.harness.cli.database_verbs.verify import verify
from oversight.harness.config import STUDY_FILE, Study, change_setting, read_study, refuse_password
from oversight.harness.errors import BadInput
from oversight.harness.output import counted, read_text
from oversight.harness.platform import write_whole
from oversight.harness.store import (
    HEAD,
    Store,
    copy_rows,
    has_database,
    move_rows,
    name_schema,
    refuse_mark,
    upgrade_database,
)

_FILE = "sqlite:///"


def upgrade(args: argparse.Namespace) -> None:
    """Copy all rows to a new database, then write its name into study.toml.

    If this is interrupted, it can be run again.
    """
    study, path = read_study(args.study), _find_file(args)
    old, url = study.study.store, study.store_url
    if study.has_server:
        known = re.search(r"search_path(?:=|%3D)(\w+)", old)
        to = args.to or f"{_without_version(known[1]) if known else 'oversight'}_{HEAD}"
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", to):
            raise BadInput(f"TO: {to!r} is not a schema name: use lower-case letters, digits and _")
        named = name_schema(old, to)
    elif args.to:
        to, named = _locate(args.to, path)
        to = to.removeprefix(_FILE)
    else:
        file = Path(old.removeprefix(_FILE))
        named = str(file.with_stem(f"{_without_version(file.stem)}-{HEAD}"))
        to = str(study.path(named))
    text = change_setting(read_text(path), "study", "store", named)
    found = upgrade_database(url, to)
    _write_settings(text, path)
    rows = sum(found.values())
    told = f"{counted(rows, 'row')} copied" if found else "all rows had already been copied"
    then = (
        f"{args.study} names {named} now; {old} is unchanged: keep it as a backup, and do not collect "
        "answers in it"
    )
    emit(args, {"rows": rows, "tables": found, "from": old, "to": named}, f"{told}; {then}")


def _locate(to: str, study_file: Path) -> tuple[str, str]:
    """Return the URL of a target database, and its name in study.toml.

    A relative path is relative to the working folder, and its name in study.toml to the folder of study.toml.
    So a copied or renamed folder has its own database.
    """
    if "://" in to and not to.startswith(_FILE):
        return to, to
    file = Path(to.removeprefix(_FILE))
    if file.is_absolute():
        return f"{_FILE}{file}", str(file)
    # Resolve links, because ".." in a path leads out of the folder to which a link points.
    file = file.parent.resolve() / file.name
    return f"{_FILE}{file}", os.path.relpath(file, study_file.parent.resolve())


def _find_file(args: argparse.Namespace) -> Path:
    """Return the path of study.toml; ``--study`` may also name its folder."""
    path = Path(args.study)
    return path / STUDY_FILE if path.is_dir() else path


def _write_settings(text: str, path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    write_whole(text, path, mode=mode).chmod(mode)  # the umask may have removed the rights of a team


def _without_version(name: str) -> str:
    """Return a database's name without the version number that an earlier upgrade appended to it."""
    return re.sub(r"[-_][0-9]{4}$", "", name)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``oversight store``."""
    actions = add_actions(parser, {name: told for name, (_, told) in ACTIONS.items()})
    for name in ("copy", "move"):
        to = "target file, or postgresql://USER@HOST/NAME without a password"
        actions[name].add_argument("to", metavar="TO", help=to)
    to = "new file, or name of a new schema on the server (default: the old name plus the new version)"
    actions["upgrade"].add_argument("to", nargs="?", metavar="TO", help=to)
    add = actions["verify"].add_argument
    add("file", nargs="?", help="file written by `label audit` (default: the study's database)")
    add("--head", metavar="HASH", help="hash of the audit trail's head, as an earlier command printed it")


def run(args: argparse.Namespace) -> int:
    """Copy, move, verify or upgrade the study's database, or adopt a copy."""
    return ACTIONS[args.action][0](args) or 0


def _copy(args: argparse.Namespace) -> None:
    study = study_of(args)
    try:
        refuse_password(args.to)
    except ValueError as error:
        raise BadInput(f"TO: {error}") from None
    if not has_database(study.store_url):
        raise BadInput("this study has no database yet; draw questions with: oversight label route")
    url, named = _locate(args.to, _find_file(args))
    if args.action == "move":
        _move(args, study, url, named)
        return
    copied = copy_rows(study.store_url, url)
    rows = sum(copied.values())
    text = f"{counted(rows, 'row')} of {counted(len(copied), 'table')} copied to {args.to} and compared"
    setting = f"store = {json.dumps(named, ensure_ascii=False)}"
    then = (
        f"the copy is read-only; to continue in it, set {setting} under [study] in {args.study}, then run: "
        "oversight store adopt"
    )
    emit(args, {"rows": rows, "tables": copied, "to": args.to}, f"{text}\n{then}")


def _adopt(args: argparse.Namespace) -> None:
    url = study_of(args).store_url
    if not has_database(url):
        raise BadInput(
            "this study has no database; first write the address of the copied database in study.toml: store "
            "= ADDRESS"
        )
    with Store(url, write_marked=True) as store:
        mark, shown = store.marks.adopt(), store.shown
    if mark is None:
        raise BadInput(f"{shown}: this database is not marked as a copy, so it already collects answers")
    text = (
        f"{shown} is the study's database now; it was {mark}; do not use the other database: answers "
        "given there are lost"
    )
    emit(args, {"adopted": shown, **asdict(mark)}, text)


def _move(args: argparse.Namespace, study: Study, url: str, named: str) -> None:
    """Move the rows to the database at `url`, and name it in study.toml.

    If this is interrupted, it can be run again.
    """
    path = _find_file(args)
    if _is_same(study.store_url, url):
        refuse_mark(url)
        told = f"{named} is already the study's database; nothing was copied"
        emit(args, {"rows": 0, "tables": {}, "to": named}, told)
        return
    try:
        text = change_setting(read_text(path), "study", "store", named)
    except BadInput as error:
        raise BadInput(
            f"instead of `store move`, run `store copy`, edit {path.name}, then run `store adopt`: {error}"
        ) from None
    copied = move_rows(
        study.store_url, url, lambda: _write_settings(text, path), lambda: read_text(path) == text
    )
    rows = sum(copied.values())
    told = f"{counted(rows, 'row')} copied and compared" if copied else "all rows had already been copied"
    then = (
        f"{args.study} now names {named} as the study's database; the old database collects no more answers"
    )
    emit(args, {"rows": rows, "tables": copied, "to": named}, f"{told}; {then}")


def _is_same(url: str, other: str) -> bool:
    """Whether two addresses name the same database."""
    files = [Path(one.removeprefix(_FILE)) for one in (url, other) if one.startswith(_FILE)]
    return url == other or (len(files) == 2 and files[0].resolve() == files[1].resolve())


ACTIONS: dict[str, tuple[Callable[[argparse.Namespace], int | None], str]] = {
    "copy": (_copy, "copy the study into another database, and compare the rows"),
    "move": (_copy, "move the study into another database"),
    "adopt": (_adopt, "collect answers in a copy from now on"),
    "verify": (verify, "check that the database, or an audit file, was not altered"),
    "upgrade": (upgrade, "copy an older study into a new database of this version"),
}
"""Action → its function and its help text."""
