"""The verbs of ``oversight label`` for the answer page: serving the page, and personal codes for it."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oversight.harness import BadInput
from oversight.harness.cli import check_address, emit, leave_threads
from oversight.harness.config import Study
from oversight.harness.output import counted, reveal, say
from oversight.harness.store import AnswerLink, Store, has_database
from oversight.harness.web import read_public_url
from oversight.protocols.collect import list_codes, make_codes, revoke_codes

if TYPE_CHECKING:
    from oversight.harness.web import PublicAddress
    from oversight.protocols.collect import MadeCode

_DAYS = 30.0
"""Default number of days for which a code is valid."""
_NO_QUESTIONS = "no questions yet; draw them with: oversight label route"
_ONCE = "Codes are shown only once and are not stored: give each code only to its expert."
_READABLE = """\
warning: codes and answers travel over the network unencrypted, readable by whoever is on the way. Put a \
proxy with TLS in front, such as: caddy reverse-proxy --from answers.example.org --to 127.0.0.1:{port}
and serve with: oversight label serve --public-url https://answers.example.org (docs/answer-page.md)"""


def serve(args: argparse.Namespace, study: Study) -> None:
    """Serve the page until Ctrl-C or SIGTERM; experts without a code get one."""
    from oversight.protocols.collect import AnswerPageOptions, serve_answers

    check_address(args.port, args.host)
    public = read_public_url(args.public_url) if args.public_url else ""

    def ready(store: Store, address: PublicAddress) -> None:
        now = datetime.now(UTC)
        links = list_codes(study, store)
        without = [n for n, link in links.items() if link is None or not (link.revoked or link.opens(now))]
        made: list[MadeCode] = []
        if without and _is_logged():
            number = counted(len(without), "expert")
            say(f"no code for {number}; make codes with: oversight label codes --all")
        elif without:
            made = make_codes(study, store, address.url, experts=without, days=args.days or _DAYS)
        kept = {name: link for name, link in links.items() if link is not None and name not in without}
        _tell_served(args, address, made, kept)

    serve_answers(study, AnswerPageOptions(host=args.host, port=args.port, public=public), ready)
    leave_threads()


def _is_logged() -> bool:
    """Whether the output goes to the log of a systemd service, which must not contain codes."""
    return "INVOCATION_ID" in os.environ


def _tell_served(
    args: argparse.Namespace, address: PublicAddress, made: list[MadeCode], kept: dict[str, AnswerLink]
) -> None:
    if address.is_readable:
        say(_READABLE.format(port=address.port))
    told = {
        "url": address.url,
        "port": address.port,
        **_name_codes(_reveal(made)),
        "known": sorted(kept),
    }
    lines = [f"the page is at {address.url}; Ctrl-C stops it", *_code_lines(made)]
    lines += [
        f"{name}: {'the code was revoked' if link.revoked else f'has a code, until {link.expires[:10]}'}; "
        f"make a new one with: oversight label codes {shlex.quote(name)}"
        for name, link in kept.items()
    ]
    shown = json.dumps(told, ensure_ascii=False) if args.json else "\n".join(lines)
    sys.stdout.write(shown + "\n")
    sys.stdout.flush()


def codes(args: argparse.Namespace, study: Study) -> None:
    """List the experts' codes for the answer page, make new codes, or revoke codes."""
    check_address(args.port)
    if args.days is not None and (args.revoke or not (args.all or args.experts)):
        raise BadInput("--days applies only to new codes; to make codes, name experts or give --all")
    if (args.all and (args.experts or args.revoke)) or (args.revoke and not args.experts):
        raise BadInput(
            "give names of experts, or --all to make new codes for all experts; --revoke needs names"
        )
    address = f"http://127.0.0.1:{args.port}"
    if args.public_url:
        address = read_public_url(args.public_url)
    if not has_database(study.store_url):
        raise BadInput(_NO_QUESTIONS)
    with Store(study.store_url) as store:
        store.marks.refuse_mark()
        if args.revoke:
            gone = revoke_codes(store, args.experts)
            emit(
                args,
                {"revoked": gone},
                f"revoked: {', '.join(gone)}" if gone else "these experts have no valid code",
            )
        elif args.all or args.experts:
            made = make_codes(study, store, address, experts=args.experts, days=args.days or _DAYS)
            where = f"the page is at {address}, unless oversight label serve prints another address"
            lines = [where if not args.public_url else f"the page is at {address}", *_code_lines(made)]
            emit(args, _name_codes(_reveal(made)), "\n".join(lines))
        else:
            _list(args, list_codes(study, store))


def _name_codes(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Return rows of codes under their JSON key, and again under the key that version 0.2 used."""
    return {"codes": rows, "links": rows}


def _list(args: argparse.Namespace, found: dict[str, AnswerLink | None]) -> None:
    from rich.table import Table

    now, rows = datetime.now(UTC), []
    table = Table("expert", "code", "made", "until", "last seen", title="Personal codes for the answer page")
    for name, link in found.items():
        state = (
            "none" if link is None else "revoked" if link.revoked else "open" if link.opens(now) else "over"
        )
        times = (link.created, link.expires, link.seen) if link is not None else ("", "", "")
        rows.append(
            {"expert": name, "state": state, **dict(zip(("made", "until", "seen"), times, strict=True))}
        )
        table.add_row(name, state, *(time[:16].replace("T", " ") for time in times))
    table.caption = (
        "Times are UTC. Make a new code with: oversight label codes EXPERT; the expert's former code then "
        "stops working."
    )
    emit(args, _name_codes(rows), table)


def _reveal(made: list[MadeCode]) -> list[dict[str, str]]:
    """Return codes as rows of the command's output, with codes and addresses in plain text."""
    for code in made:
        reveal(code.url)
        reveal(code.code)
    return [asdict(code) for code in made]


def _code_lines(made: list[MadeCode]) -> list[str]:
    return [*(f"{m.expert}: {m.code} (until {m.expires[:10]})" for m in made), *([_ONCE] if made else [])]
