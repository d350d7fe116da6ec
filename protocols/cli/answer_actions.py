"""The verbs of ``oversight label`` for the answer page: serving the page, and links to it."""

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
from oversight.protocols.collect import list_links, make_links, revoke_links

if TYPE_CHECKING:
    from oversight.harness.web import PublicAddress
    from oversight.protocols.collect import MadeLink

_DAYS = 30.0
"""Default number of days for which a link is valid."""
_NO_QUESTIONS = "no questions yet; draw them with: oversight label route"
_ONCE = "Links are shown only once and are not stored: give each link only to its expert."
_READABLE = """\
warning: links and answers travel over the network unencrypted, readable by whoever is on the way. Put a \
proxy with TLS in front, such as: caddy reverse-proxy --from answers.example.org --to 127.0.0.1:{port}
and serve with: oversight label serve --public-url https://answers.example.org (docs/answer-page.md)"""


def serve(args: argparse.Namespace, study: Study) -> None:
    """Serve the page until Ctrl-C or SIGTERM; experts without a link get one."""
    from oversight.protocols.collect import AnswerPageOptions, serve_answers

    check_address(args.port, args.host)
    public = read_public_url(args.public_url) if args.public_url else ""

    def ready(store: Store, address: PublicAddress) -> None:
        now = datetime.now(UTC)
        links = list_links(study, store)
        without = [n for n, link in links.items() if link is None or not (link.revoked or link.opens(now))]
        made: list[MadeLink] = []
        if without and _is_logged():
            number = counted(len(without), "expert")
            say(f"{number} without a link; make links with: oversight label links --all")
        elif without:
            made = make_links(study, store, address.url, experts=without, days=args.days or _DAYS)
        kept = {name: link for name, link in links.items() if link is not None and name not in without}
        _tell_served(args, address, made, kept)

    serve_answers(study, AnswerPageOptions(host=args.host, port=args.port, public=public), ready)
    leave_threads()


def _is_logged() -> bool:
    """Whether the output goes to the log of a systemd service, which must not contain links."""
    return "INVOCATION_ID" in os.environ


def _tell_served(
    args: argparse.Namespace, address: PublicAddress, made: list[MadeLink], kept: dict[str, AnswerLink]
) -> None:
    if address.is_readable:
        say(_READABLE.format(port=address.port))
    for link in made:
        reveal(link.url)
    told = {
        "url": address.url,
        "port": address.port,
        "links": [asdict(link) for link in made],
        "known": sorted(kept),
    }
    lines = [f"the page is at {address.url}; Ctrl-C stops it", *_link_lines(made)]
    lines += [
        f"{name}: {'the link was revoked' if link.revoked else f'has a link, until {link.expires[:10]}'}; "
        f"make a new one with: oversight label links {shlex.quote(name)}"
        for name, link in kept.items()
    ]
    shown = json.dumps(told, ensure_ascii=False) if args.json else "\n".join(lines)
    sys.stdout.write(shown + "\n")
    sys.stdout.flush()


def links(args: argparse.Namespace, study: Study) -> None:
    """List the links, make new ones, or revoke some."""
    check_address(args.port)
    if args.days is not None and (args.revoke or not (args.all or args.experts)):
        raise BadInput("--days is for new links: name experts, or give --all")
    if (args.all and (args.experts or args.revoke)) or (args.revoke and not args.experts):
        raise BadInput("name experts, or give --all for new links; --revoke needs names")
    address = f"http://127.0.0.1:{args.port}"
    if args.public_url:
        address = read_public_url(args.public_url)
    if not has_database(study.store_url):
        raise BadInput(_NO_QUESTIONS)
    with Store(study.store_url) as store:
        store.marks.refuse_mark()
        if args.revoke:
            gone = revoke_links(store, args.experts)
            emit(
                args,
                {"revoked": gone},
                f"revoked: {', '.join(gone)}" if gone else "these experts have no valid link",
            )
        elif args.all or args.experts:
            made = make_links(study, store, address, experts=args.experts, days=args.days or _DAYS)
            for link in made:
                reveal(link.url)
            emit(args, {"links": [asdict(link) for link in made]}, "\n".join(_link_lines(made)))
        else:
            _list(args, list_links(study, store))


def _list(args: argparse.Namespace, found: dict[str, AnswerLink | None]) -> None:
    from rich.table import Table

    now, rows = datetime.now(UTC), []
    table = Table("expert", "link", "made", "until", "last seen", title="Links to the answer page")
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
        "Times are UTC. Make a new link with: oversight label links EXPERT; the expert's former link then "
        "stops working."
    )
    emit(args, {"links": rows}, table)


def _link_lines(made: list[MadeLink]) -> list[str]:
    return [*(f"{m.expert}: {m.url} (until {m.expires[:10]})" for m in made), *([_ONCE] if made else [])]
