"""Whom a workflow may let a model play: data of a study, never code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.types import Item

GENERALIST = "generalist"


@dataclass(frozen=True, slots=True)
class Role:
    """One expert that a prompt can name.

    Attributes
    ----------
    name
        Unique within a study; how a router names it.
    text
        The sentence that is put at the head of a prompt.
    """

    name: str
    text: str


def default_roles(items: Sequence[Item]) -> tuple[Role, ...]:
    """One role for each class if all items share their options, and a generalist, who is last.

    Items with options of their own have nothing in common to make experts of: the generalist is
    alone then.
    """
    shared = {frozenset(item.options) for item in items}
    names = items[0].options if len(shared) == 1 else ()
    experts = tuple(Role(name, f"You are an expert for {name}.") for name in names)
    return (*experts, Role(GENERALIST, "You are a careful generalist."))
