"""Read study.toml as a `Study`, or raise an error that names the line.

The settings' JSON Schema, for editors, is generated from the code and shipped with it. After a change to the
settings, write the schema again: ``python -m oversight.harness.config.study_file``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from oversight.harness.config.models import ENDPOINT_ONLY
from oversight.harness.config.study import Study
from oversight.harness.errors import BadInput, DataError
from oversight.harness.output import did_you_mean, read_text, shorten

STUDY_FILE = "study.toml"
_OF_ENDPOINTS = 'set it under [endpoints.NAME], and name that endpoint: endpoint = "NAME"'
_RETIRED = {
    "endpoints": {"max_reply_bytes": "a reply is always limited to 4 MB; leave it out"},
    "models": {
        "max_reply_bytes": "a reply is always limited to 4 MB; leave it out",
        **dict.fromkeys(ENDPOINT_ONLY, _OF_ENDPOINTS),
        "stop": 'write it into the request body: extra = {stop = ["TEXT"]}',
    },
    "items": {
        "hub_config": 'write it after the name, as in hub = "OWNER/NAME:CONFIGURATION"',
        "revision": 'write it after the name, as in hub = "OWNER/NAME@REVISION"',
    },
    "search": {
        "examples": "8 solved items are shown, or those of `examples` in workflow.toml",
        "finalists": "3 candidates are confirmed; leave it out",
        "fitness": 'the score is always "ml", unless parity names another; leave it out',
        "optimiser_temperature": "set temperature under [models], in an entry that only the optimiser uses",
        "optimiser_tokens": "set max_tokens under [models], in an entry that only the optimiser uses",
        "parents": "the search always changes the candidates that it estimates to be best; leave it out",
        "patience": "the search ends after `candidates` proposals; leave it out",
        "replicates": "every candidate answers each item once; leave it out",
    },
    "costs": {"judge_minutes": "only the minutes of experts are counted; leave it out"},
    "estimate": {"looks": "the first analysis (--look 1/L) fixes the number L; leave it out"},
    "prices": {"file": "the price table is always prices.toml beside study.toml; rename the file"},
}
"""Settings that were removed from a section, with advice."""


def read_study(path: str | Path = STUDY_FILE, changes: Mapping[str, Any] | None = None) -> Study:
    """Read a study file, or a folder's study.toml; `changes` replaces settings such as ``estimate.level``.

    Raises
    ------
    DataError
        If the file does not exist or is not valid TOML, a key is unknown, or a value has the wrong type or is
        out of range; the message names file, line and key of the first error.
    BadInput
        If a changed setting does not exist or its value is invalid; the message names the setting.
    """
    path = Path(path)
    path = path / STUDY_FILE if path.is_dir() else path
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise DataError("there is no such study file; make one with: oversight init", file=path) from None
    except UnicodeDecodeError as error:
        where = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(
            "this line is not UTF-8; correct the line, or restore a copy", file=path, line=where
        ) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error}", file=path) from None
    try:
        table = tomllib.loads(text)
    except ValueError as error:  # raised for bad TOML, and for a number with too many digits for Python
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else None
        raise DataError(f"not valid TOML: {error}", file=path, line=line) from None
    except RecursionError:
        raise DataError("not valid TOML: nested too deep", file=path) from None
    table.pop("folder", None)
    _refuse_large(table, path, text)
    for name, value in (changes or {}).items():
        _change(table, name.split("."), value)
    _refuse_retired(table, path, text, changes or {})
    try:
        return Study.model_validate({**table, "folder": str(path.parent)})
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(k) for k in first["loc"] if k != "folder"]
        reason = _reason(first) + (_meant(first["loc"]) if first["type"] == "extra_forbidden" else "")
        _refuse_changed(changes or {}, ".".join(keys), reason)
        raise DataError(reason, file=path, line=_line(text, keys), field=".".join(keys)) from None


def _refuse_large(found: Any, path: Path, text: str, keys: tuple[str, ...] = ()) -> None:
    """Refuse integers that do not fit in 64 bits, because they cannot be stored exactly."""
    if isinstance(found, dict | list):
        for key, value in found.items() if isinstance(found, dict) else enumerate(found):
            _refuse_large(value, path, text, (*keys, str(key)))
    elif isinstance(found, int) and not -(2**63) <= found < 2**63:
        reason = f"a whole number must fit in 64 bits, is {shorten(found)}"
        raise DataError(reason, file=path, line=_line(text, list(keys)), field=".".join(keys))


def _change(table: dict[str, Any], keys: list[str], value: Any) -> None:
    """Change the value of a setting, creating its section if it is missing."""
    try:
        _refuse_large(value, Path(), "")
    except DataError as error:
        raise BadInput(f"--set {'.'.join(keys)}: {error.reason}") from None
    for key in keys[:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise BadInput(f"--set {'.'.join(keys)}: {key} is not a section of study.toml")
    table[keys[-1]] = value


def _refuse_changed(changes: Mapping[str, Any], field: str, reason: str) -> None:
    """Raise an error that names the ``--set`` option if the invalid `field` belongs to a changed setting."""
    for name in changes:
        if f"{field}.".startswith(f"{name}.") or f"{name}.".startswith(f"{field}."):
            raise BadInput(f"--set {name}: {reason}") from None


def _refuse_retired(table: dict[str, Any], path: Path, text: str, changes: Mapping[str, Any]) -> None:
    """Refuse settings that were removed, and name their replacements."""
    for kind, retired in _RETIRED.items():
        sections = table.get(kind) if kind in ("endpoints", "models") else {"": table.get(kind)}
        for name, section in sections.items() if isinstance(sections, dict) else ():
            found = [key for key in retired if isinstance(section, dict) and key in section]
            if found:
                keys = [key for key in (kind, name, found[0]) if key]
                reason = f"not a setting of this section: {retired[found[0]]}"
                _refuse_changed(changes, ".".join(keys), reason)
                raise DataError(reason, file=path, line=_line(text, keys), field=".".join(keys))


def _reason(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key; see the commented file that `oversight init` writes"
    if error["type"] == "missing":
        return "is missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    # Hide the value, because a user may have written the API key instead of the name of a variable.
    hidden = error["loc"][-1:] == ("api_key_env",) or isinstance(error["input"], dict)
    shown = "" if hidden else f", is {shorten(error['input'])}"
    return message[0].lower() + message[1:] + shown


def _meant(place: tuple[Any, ...]) -> str:
    """Return a hint that names a similar setting of the same section; empty if no setting is similar."""
    section: Any = Study
    for part in place[:-1]:
        if get_origin(section) is dict:
            section = get_args(section)[1]
        elif part in section.model_fields:
            section = section.model_fields[part].annotation
        if not (get_origin(section) is dict or hasattr(section, "model_fields")):
            return ""
    gone = _RETIRED.get(str(place[0]), {})
    known = [name for name in getattr(section, "model_fields", ()) if name not in gone]
    return did_you_mean(str(place[-1]), known)


def _line(text: str, keys: list[str]) -> int | None:
    """Return the line number of a key or, if the key is missing, of its section; editors can jump to it."""
    best, section = None, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        stripped = raw.strip()
        header = re.match(r"\[+\s*([^\]]+?)\s*\]+", stripped)
        if header:
            section = header[1].replace('"', "")
            if ".".join(keys).startswith(section):
                best = number
        elif "=" in stripped:
            key = ".".join(filter(None, (section, stripped.split("=", 1)[0].strip().strip('"'))))
            if ".".join(keys) == key or ".".join(keys).startswith(key + "."):
                return number
    return best


def change_setting(text: str, section: str, name: str, value: str | int) -> str:
    r"""Set one setting in the text of a study.toml, leaving all else unchanged. Returns the new text.

    Raises
    ------
    BadInput
        If the file has no such section, or writes the setting in a way that cannot be replaced.

    Examples
    --------
    >>> print(change_setting('[study]\nname = "a"  # mine\n', "study", "store", "b.db"))
    [study]
    store = "b.db"
    name = "a"  # mine
    <BLANKLINE>
    """
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    head = re.search(rf"^[ \t]*\[[ \t]*{section}[ \t]*\][^\n]*\n?", text, re.MULTILINE)
    if head is not None:
        end = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, head.end())
        kept = text[head.end() : end.start() if end else len(text)]
        rest = text[head.end() + len(kept) :]
        written = rf"""^[ \t]*{name}[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*'|[\w.-]+)"""
        changed, number = re.compile(written, re.MULTILINE).subn(lambda _: line, kept)
        changed = changed if number else f"{line}\n{kept}"
        begin = text[: head.end()] + ("" if head[0].endswith("\n") else "\n")
        with suppress(ValueError):  # the edited text may be invalid TOML, for example if a value contains "#"
            if tomllib.loads(begin + changed + rest)[section][name] == value:
                return begin + changed + rest
    raise BadInput(f"study.toml cannot be changed automatically; write this under [{section}]: {line}")


SCHEMA_FILE = "study.schema.json"
"""Name of the schema file, in the package and beside every study.toml whose first line names it."""
_SHIPPED = Path(__file__).parent / SCHEMA_FILE


def generate_schema() -> dict[str, Any]:
    """Return the JSON Schema of the present settings."""
    schema = Study.model_json_schema()
    del schema["properties"]["folder"]  # not a setting, but the location of the file
    for kind, retired in _RETIRED.items():
        place = schema["properties"].get(kind, {})
        section = place.get("additionalProperties", place).get("$ref", "").rpartition("/")[2]
        for name in retired if section else ():
            schema["$defs"][section]["properties"].pop(name, None)
    models, judges = schema["properties"]["models"], schema["properties"].pop("judges")
    one, several = {"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}
    section = models["additionalProperties"]  # also allowed under `judge`, because a model may have this name
    models["description"] = (
        "Models by name. `judge` names one or several models whose probabilities narrow the estimates of the "
        "others; judges are not estimated themselves."
    )
    models["properties"] = {"judge": {"anyOf": [one, several, section], "default": judges["default"]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def read_schema_text() -> str:
    """Return the text of the schema file in the package."""
    return _SHIPPED.read_text(encoding="utf-8")


def write_schema() -> None:
    """Write the schema file in the package."""
    text = json.dumps(generate_schema(), ensure_ascii=False, indent=1)
    _SHIPPED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schema()
