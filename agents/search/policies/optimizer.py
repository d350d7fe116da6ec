"""Talk with the model that writes programs (the optimiser): read replies leniently, check contents strictly.

A reply should be one JSON object with named texts. The functions here also accept a reply with thoughts,
fences or prose around the object, with additional keys, with raw line breaks in strings, or with tagged
sections. Code can be in a fence, or in triple quotes inside JSON. Missing parts are never guessed: after a
cut or incomplete reply, the model is asked once for a correction; if that fails, the proposal is refused with
the reason. Nothing in a reply is executed in this module.

The optimiser receives a guide, which describes with examples everything that a program may use, and
everything that is refused. Its text is in ``prompts/guide.txt``. Every example there is a complete program
whose first line says how many calls it makes per item. A test runs each example through the static gate and a
dry run, so that the guide and the code agree.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from string import Template
from typing import Any

from oversight.agents.programs import PromptFormat, Role
from oversight.harness import ModelError
from oversight.harness.llm import Message, ModelReply, Request

MOST_ROLES = 24
_ROLE_CHARACTERS = 160


def write_guide(restrictions: str, roles: Sequence[Role], shape: PromptFormat) -> str:
    """Return the optimiser's guide for a study.

    Parameters
    ----------
    restrictions
        Description of what the sandbox refuses, see `oversight.agents.sandbox.Sandbox.restrictions`.
    roles, shape
        The study's roles and prompt format.
    """
    code = render_template("guide_code" if shape.code else "guide_no_code")
    return render_template(
        "guide",
        answers="the option's letter" if shape.answer == "letter" else "the option in its own words",
        roles=_list_roles(roles),
        shape=_describe_shape(shape),
        examples=f"0 to {len(shape.examples)} here" if shape.examples else "of which this study has none",
        code=f"\n{code}\n",
        restrictions=restrictions,
    )


def quote_data(text: str, most: int) -> str:
    """Quote untrusted text as data in a prompt: one line with at most `most` characters of the text."""
    quoted = json.dumps(text[:most] + ("…" if len(text) > most else ""), ensure_ascii=False)
    return quoted.replace("`", "'")


def _list_roles(roles: Sequence[Role]) -> str:
    told = [f"{quote_data(r.name, 60)} ({quote_data(r.text, _ROLE_CHARACTERS)})" for r in roles[:MOST_ROLES]]
    more = len(roles) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "") if told else "none"


def _describe_shape(shape: PromptFormat) -> str:
    told = f" A call's reply has {shape.max_tokens:,} tokens at most"
    if shape.field_chars is not None:
        told += f", a free text {shape.field_chars:,} characters"
    if shape.style == "lines":
        told += "; every field is one line that the model completes, and a call for it alone"
    return told + "."


Ask = Callable[[Request, str], Awaitable[ModelReply]]
"""Signature of `oversight.agents.runtime.broker.Broker.ask`, which caches and pays the optimiser's calls."""

LONGEST = 60_000
"""Maximum number of characters of a program."""
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_TRIPLE = re.compile(r'(?<=:)\s*"""(.*?)"""(?=\s*(?:,\s*"|}))', re.DOTALL)
_FENCE = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)


class ReplyRefused(ModelError):
    """The optimiser's reply was unusable, even after one request for a correction."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """The model that writes programs, and its information about the task.

    Attributes
    ----------
    ask
        Function that calls the model.
    task
        Description of the items, with one example item but no answer.
    guide
        Guide to what programs may use and what is refused, see `write_guide`.
    temperature, max_tokens
        Sampling temperature, and token limit of every reply.
    """

    ask: Ask
    task: str
    guide: str
    temperature: float = 0.8
    max_tokens: int = 4096


@dataclass(slots=True)
class Conversation:
    """A conversation with the optimiser about one proposal.

    Attributes
    ----------
    path
        Prefix of the paths of all requests, so that a resumed proposal finds its replies in the cache.
    log
        Messages about corrections that were necessary.
    tokens
        Number of tokens used so far.
    found
        Usable fields of the last reply.
    """

    optimiser: Optimizer
    path: str
    messages: list[Message] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    tokens: int = 0
    found: dict[str, str] = field(default_factory=dict)
    _turns: int = 0

    @classmethod
    def begin(cls, optimiser: Optimizer, *path: object) -> Conversation:
        """Start a conversation with the system message; `path` identifies the proposal."""
        name = "/".join(("meta", *map(str, path)))
        return cls(optimiser, name, [Message("system", render_template("system"))])

    async def ask(self, prompt: str, fields: Sequence[str]) -> dict[str, str]:
        """Ask for a JSON object in which each of these fields is a non-empty text. Returns the fields.

        Raises
        ------
        ReplyRefused
            If the reply lacks a field after one request for a correction.
        ModelError
            If the call failed.
        """
        self.messages.append(Message("user", prompt))
        self.found = {}
        found, lacking = parse_fields(await self._turn(), fields)
        if lacking:
            self.log.append(f"mended a reply without {', '.join(lacking)}")
            wish = render_template("mend", fields=_listed(fields), lacking=_listed(lacking))
            self.messages.append(Message("user", wish))
            found |= parse_fields(await self._turn(), fields)[0]
            lacking = [name for name in fields if name not in found]
        if lacking:
            raise ReplyRefused(f"the reply has no usable {', '.join(lacking)}")
        self.found = found
        return found

    async def _turn(self) -> str:
        told = self.optimiser
        request = Request(tuple(self.messages), temperature=told.temperature, max_tokens=told.max_tokens)
        reply = await self.optimiser.ask(request, f"{self.path}/{self._turns}")
        self._turns += 1
        self.tokens += reply.input_tokens + reply.output_tokens
        self.messages.append(Message("assistant", reply.text))
        return reply.text if reply.finish_reason != "length" else ""


def render_template(template: str, **fields: object) -> str:
    """Return a prompt of the folder ``agents/prompts``, with its fields filled in."""
    text = (files("oversight.agents") / "prompts" / f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute({name: str(value) for name, value in fields.items()}).strip()


def parse_fields(text: str, fields: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Find the wanted fields in a reply. Returns the found fields and the names of the missing ones.

    A field called ``code`` counts as found only if it is Python that parses and defines ``forward``.
    """
    text = _THOUGHT.sub("", text).strip()
    found = {}
    for name in fields:
        match = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL | re.IGNORECASE)
        if match and match[1].strip():
            found[name] = match[1].strip()
    for candidate in _objects(text):
        found |= {n: v for n in fields if isinstance(v := candidate.get(n), str) and (v := v.strip())}
    if "code" in fields:
        # If the field contains no program, use the last fenced block that does.
        texts = (found.pop("code", ""), *reversed(_FENCE.findall(text)))
        found |= next(({"code": code} for block in texts if (code := _code(block))), {})
    return found, [name for name in fields if name not in found]


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects in a text: the whole text, fenced blocks, and the text between outer braces."""
    text = _TRIPLE.sub(lambda found: json.dumps(found[1]), text)
    pieces = [text, *_FENCE.findall(text)]
    if "{" in text and "}" in text:
        pieces.append(text[text.index("{") : text.rindex("}") + 1])
    found = []
    for piece in pieces:
        with suppress(ValueError, RecursionError):
            found.append(json.loads(piece, strict=False))
    return [value for value in found if isinstance(value, dict)]


def _code(text: str) -> str:
    """Return a program's source without the fence around it; empty if the text is not a program."""
    fenced = _FENCE.search(text)
    source = (fenced[1] if fenced else text).strip("\n")
    if not source or len(source) > LONGEST:
        return ""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return ""
    names = {s.name for s in tree.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)}
    return source + "\n" if "forward" in names else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
