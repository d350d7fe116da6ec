"""A Sphinx directive that shows every setting of study.toml, from the settings' JSON schema."""

from __future__ import annotations

import json
import re
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from oversight.harness.config.study_file import generate_schema

Schema = dict[str, Any]


class Settings(SphinxDirective):
    """``.. settings::`` shows each section of study.toml as a list of its settings."""

    def run(self) -> list[nodes.Node]:
        """Return one section of the page per table of study.toml."""
        schema = generate_schema()
        text = "\n".join(
            line for name, place in find_tables(schema) for line in describe_table(name, place, schema)
        )
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def resolve(place: Schema, schema: Schema) -> Schema:
    """Return the schema that a reference points to."""
    while "$ref" in place:
        place = schema["$defs"][place["$ref"].rpartition("/")[2]]
    return place


def find_tables(schema: Schema) -> list[tuple[str, Schema]]:
    """Return the names of study.toml's tables, as written in the file, with their schemas."""
    found = []
    for name, place in schema["properties"].items():
        table = resolve(place, schema)
        inner = table.get("additionalProperties")
        found.append((name, table))
        if isinstance(inner, dict):
            found.append((f"{name}.NAME", resolve(inner, schema)))
    return [(name, table) for name, table in found if table.get("properties")]


def describe_table(name: str, table: Schema, schema: Schema) -> list[str]:
    """Return lines that document a table of study.toml: its description, and a paragraph per setting."""
    text, meanings = split_attributes(table.get("description", ""))
    title = f"[{name}]"
    lines = ["", f".. _settings-{name.replace('.', '-')}:", "", title, "-" * len(title), "", text, ""]
    for key, place in table["properties"].items():
        told = meanings.get(key, "")
        default = (
            ""
            if "default" not in place
            else f"; default ``{json.dumps(place['default'], ensure_ascii=False)}``"
        )
        default = default.replace("; default ``null``", "; not set by default")
        needed = "; must be given" if key in table.get("required", []) else ""
        lines += [
            f"``{key}``",
            f"    {told} *{describe_values(place, schema)}*{default}{needed}".replace("     ", "    "),
            "",
        ]
    return lines


def split_attributes(description: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into its text and the meanings of its attributes by name (numpydoc)."""
    text, _, section = description.partition("Attributes\n----------\n")
    meanings: dict[str, str] = {}
    for names, told in re.findall(r"^(\w[^\n]*)\n((?:    [^\n]*\n?)+)", section, re.MULTILINE):
        for name in names.split(", "):
            meanings[name] = " ".join(told.split())
    return text.strip(), meanings


def describe_values(place: Schema, schema: Schema) -> str:
    """Return a description of a setting's allowed values: type, choices and bounds."""
    place = resolve(place, schema)
    if "anyOf" in place:
        return " or ".join(
            describe_values(one, schema) for one in place["anyOf"] if one.get("type") != "null"
        )
    if "enum" in place:
        return " or ".join(json.dumps(value) for value in place["enum"])
    kind = place.get("type", "any value")
    if kind == "array":
        return f"list of {describe_values(place.get('items', {}), schema)}"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "table"}
    found = place.get("format") or words.get(kind, kind)
    bounds = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    told = [f"{sign} {place[bound]}" for bound, sign in bounds.items() if bound in place]
    return f"{found} {', '.join(told)}".strip()
