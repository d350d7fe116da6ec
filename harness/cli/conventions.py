"""Conventions that all verbs share: naming the study, reading JSON from an option, and printing."""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
import threading
import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from oversight.harness.errors import BadInput, ConfigError
from oversight.harness.output import counted, say, shorten, show
from oversight.harness.types import plain_fields

if TYPE_CHECKING:
    from rich.console import RenderableType

    from oversight.harness.config import ModelSection, Study
    from oversight.harness.llm import Workers


_MOST_NAMED = 5
"""Number of items that a warning names."""


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add ``--study FILE``."""
    from oversight.harness.config import STUDY_FILE

    parser.add_argument("--study", default=STUDY_FILE, help="path of the study file (default: %(default)s)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` to the parser of a sub-verb. The verb itself also accepts the option."""
    told = "print one JSON object instead of text"
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=told)


def add_actions(
    parser: argparse.ArgumentParser, texts: Mapping[str, str]
) -> dict[str, argparse.ArgumentParser]:
    """Add a sub-verb with ``--study`` and ``--json`` for every name; return the parsers by name."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    found = {name: actions.add_parser(name, help=text, description=text) for name, text in texts.items()}
    for sub in found.values():
        add_study(sub)
        add_json(sub)
    return found


def add_settings(parser: argparse.ArgumentParser, example: str) -> None:
    """Add ``--set NAME=VALUE``, which `study_of` applies."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help=f"override a setting of study.toml in this call, for example {example}; may be repeated",
    )


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parse the ``NAME=VALUE`` texts of ``--set``; a value that is not TOML is a text.

    >>> parse_settings(["estimate.level=0.9", "estimate.strata=ward"])
    {'estimate.level': 0.9, 'estimate.strata': 'ward'}

    Raises
    ------
    BadInput
        If a text does not have the form ``NAME=VALUE``.
    """
    found = dict[str, Any]()
    for text in texts:
        name, is_given, value = text.partition("=")
        if not is_given or not re.fullmatch(r"[\w-]+(\.[\w-]+)+", name):
            raise BadInput(f"--set: give SECTION.NAME=VALUE, such as estimate.level=0.9, not {text!r}")
        try:
            found[name] = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):
            found[name] = value
    return found


def parse_settings_alone(args: argparse.Namespace, known: Set[str], told: str) -> dict[str, Any]:
    """Return the values of ``--set`` for a command without a study; messages give `told` as the reason.

    Raises
    ------
    BadInput
        If ``--set`` names a setting that is not in `known`.
    """
    settings = parse_settings(args.settings)
    if other := settings.keys() - known:
        raise BadInput(f"--set {min(other)} needs a study, but {told}; leave out --set, or name a study")
    return settings


def add_models(parser: argparse.ArgumentParser, told: str) -> None:
    """Add ``--model NAME``, which may be repeated."""
    parser.add_argument("--model", action="append", help=told)


def refuse_options(args: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuse options that have no effect.

    Raises
    ------
    BadInput
        If one of the options is given; the message names the options and the reason `why`.
    """
    values = ((name, getattr(args, name)) for name in names)
    given = [name for name, value in values if value is not None and value is not False and value != []]
    if given:
        raise BadInput(f"{', '.join('--' + name.replace('_', '-') for name in given)} {why}")


def add_key(parser: argparse.ArgumentParser) -> None:
    """Add ``--open-key``."""
    told = "file with the true labels; shows the true accuracies beside the estimates"
    parser.add_argument("--open-key", metavar="FILE", help=told)


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """Add ``--verbose``, which the root command applies."""
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="log failed calls and the resulting actions (such as retries) to stderr",
    )


def add_shared_terms(parser: argparse.ArgumentParser) -> None:
    """Add ``--wait``, ``--take-over``, ``--uncertain``, and ``--on`` with its options."""
    from oversight.harness.cluster import add_placement

    add = parser.add_argument
    add(
        "--wait",
        action="store_true",
        help="if another command is doing the same work, wait until that command ends",
    )
    ended = "take over the work of a process on another machine; use only if that process has ended"
    add("--take-over", action="store_true", help=ended)
    lost = (
        "how to treat calls that were unfinished when a process ended: retry makes them again, hold "
        "counts them as failed, if that process had a budget or hold too"
    )
    add("--uncertain", choices=["retry", "hold"], help=lost)
    add_placement(parser)


def read_workers(args: argparse.Namespace, models: Sequence[ModelSection]) -> AbstractContextManager[Workers]:
    """Return the processes that call these models: the workers of ``--on``, or this process.

    Raises
    ------
    ConfigError
        If options contradict each other, or nodes cannot call a model.
    """
    from oversight.harness.cluster import RayWorkers, read_placement
    from oversight.harness.llm import THIS_PROCESS

    placement = read_placement(args)
    return nullcontext(THIS_PROCESS) if placement is None else RayWorkers(placement, models)


def check_address(port: int, host: str = "127.0.0.1", option: str = "--host") -> None:
    """Check the port and the host at which a server will listen.

    Raises
    ------
    ConfigError
        If there is no such port, or the address is empty; the message names the option.
    """
    if not 0 <= port <= 65535:
        raise ConfigError(f"--port must be 0 to 65535, is {port}")
    if not host.strip():
        raise ConfigError(f"{option} needs an address of this machine; 0.0.0.0 stands for all its addresses")


def leave_threads() -> None:
    """End the process at once if threads still wait for a database: a normal exit could hang or fail."""
    if any(thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def study_of(args: argparse.Namespace) -> Study:
    """Read the study file that the command names; warn if the items file differs from the stored items."""
    from oversight.harness.analysis import find_source_changes
    from oversight.harness.config import read_study

    study = read_study(args.study, parse_settings(getattr(args, "settings", ())))
    if getattr(args, "action", "") != "remove":
        changes = find_source_changes(study)
        file, missing, other = study.items.file, changes.missing, changes.other_meta
        if missing:
            shown = join_names(missing[:_MOST_NAMED]) + (", …" if len(missing) > _MOST_NAMED else "")
            remedy = "remove them from the study: oversight items remove ID --reason WHY"
            if study.is_open:  # items of open answers cannot be removed
                remedy = "start a new study"
            say(
                f"warning: {len(missing)} stored items are no longer in {file}: {shown}; "
                f"estimates still include them. Put them back into the file, or {remedy}"
            )
        if other:
            named = [f"{name} ({column}: {new!r}, stored {old!r})" for name, column, new, old in other]
            told = ", ".join([*named[:_MOST_NAMED], *(["…"] if len(named) > _MOST_NAMED else [])])
            say(
                f"warning: the metadata in {file} and in the study's database differ in "
                f"{counted(len(other), 'value')}: {told}. The study keeps using the stored "
                "values, for example as strata. Put the stored values back into the file, or draw the "
                "questions in a new database (store under [study])"
            )
    return study


def parse_numbers(
    option: str, text: str, needed: Mapping[str, type], known: Mapping[str, type] | None = None
) -> dict[str, Any]:
    """Parse a JSON object of numbers. It must have all `needed` names, and may have the `known` names.

    `needed` and `known` map each name to ``int``, if the number must be whole, or ``float``.

    Raises
    ------
    BadInput
        If the text is not JSON, a name is missing or unknown, or a value is not a number; the message names
        the option.
    """
    try:
        numbers = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{option}: {shorten(text)} is not JSON: {error}") from None
    kinds = {**needed, **(known or {})}
    if not isinstance(numbers, dict) or not needed.keys() <= numbers.keys() <= kinds.keys():
        only, rest = ("", f" (and {', '.join(known)} if known)") if known else ("exactly ", "")
        raise BadInput(f"{option}: give a JSON object with {only}{', '.join(needed)}{rest}")
    for name, value in numbers.items():
        whole = kinds[name] is int
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise BadInput(f"{option}: {name} must be a {'whole ' if whole else ''}number, is {value!r}")
    return numbers


def parse_look(text: str) -> tuple[int, int]:
    """Return (J, L) for the text ``J/L``, which stands for interim analysis J of L planned analyses.

    Raises
    ------
    BadInput
        If the text does not have this form.
    """
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise BadInput(f"--look: give J/L, such as 2/5, not {text!r}")
    return int(parts[0]), int(parts[1])


def split_names(text: str) -> list[str]:
    """Split names at commas, as in a line of CSV: a name in double quotes may contain a comma.

    Raises
    ------
    BadInput
        If a quotation mark is not closed, or occurs inside a name without being doubled.
    """
    try:
        (names,) = csv.reader([text.replace("\n", " ")], skipinitialspace=True, strict=True)
    except csv.Error as error:
        raise BadInput(
            f"{text!r} is not a list of names separated by commas ({error}); quote names as in CSV: "
            "'x,\"G, H\",y'"
        ) from None
    return [name.strip() for name in names if name.strip()]


def join_names(names: Iterable[str]) -> str:
    """Join names by commas, so that `split_names` returns the same names."""
    return ", ".join('"' + n.replace('"', '""') + '"' if {",", '"'} & {*n} else n for n in names)


def emit(
    args: argparse.Namespace, payload: Mapping[str, Any], human: RenderableType | list[RenderableType]
) -> None:
    """Print `payload` as JSON with ``--json``, otherwise `human`: text or rich renderables."""
    if args.json:
        sys.stdout.write(json.dumps(payload, default=_plain, ensure_ascii=False, indent=2) + "\n")
    elif isinstance(human, str):
        sys.stdout.write(human + "\n")
    else:
        from rich.console import Group

        show(Group(*human) if isinstance(human, list) else human)


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return plain_fields(value)
    return str(value)
