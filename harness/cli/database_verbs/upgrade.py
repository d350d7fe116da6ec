"""Copy a study that an older version of oversight wrote into a new database, which this version can use.

The new database is a file beside the old one. If the study is on a PostgreSQL server, it is a schema in the
same database. The old database is only read, so it remains as a backup. At the end study.toml names the new
database. If the command is killed, run it again.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
from pathlib import Path

from oversight.harness.cli.conventions import emit
from oversight.harness.config import change_setting, read_study
from oversight.harness.errors import BadInput
from oversight.harness.machine import write_whole
from oversight.harness.output import counted, read_text
from oversight.harness.store import HEAD, name_schema, upgrade_database


def upgrade(args: argparse.Namespace) -> None:
    """Copy the rows, then name the new database in study.toml; each step may be repeated."""
    study, path = read_study(args.study), Path(args.study)
    old, url = study.study.store, study.store_url
    if study.has_server:
        known = re.search(r"search_path(?:=|%3D)(\w+)", old)
        to = args.to or f"{_without_version(known[1]) if known else 'oversight'}_{HEAD}"
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", to):
            raise BadInput(f"TO: {to!r} is not a schema name: use lower-case letters, digits and _")
        named = name_schema(old, to)
    else:
        file = Path(url.removeprefix("sqlite:///"))
        to = args.to or str(file.with_stem(f"{_without_version(file.stem)}-{HEAD}"))
        named = os.path.relpath(to, path.parent) if args.to is None else str(Path(to).absolute())
    text = change_setting(read_text(path), "study", "store", named)
    found = upgrade_database(url, to)
    write_whole(text, path, mode=stat.S_IMODE(path.stat().st_mode))
    rows = sum(found.values())
    told = f"{counted(rows, 'row')} copied" if found else "all rows were copied before"
    then = (
        f"{args.study} names {named} now; {old} is unchanged: keep it as a backup, and do not collect "
        "answers in it"
    )
    emit(args, {"rows": rows, "tables": found, "from": old, "to": named}, f"{told}; {then}")


def _without_version(name: str) -> str:
    """Return the name of a database without the version that an earlier upgrade added."""
    return re.sub(r"[-_][0-9]{4}$", "", name)
