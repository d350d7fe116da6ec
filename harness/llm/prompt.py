"""An item becomes the text that is sent to a model."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from harness.errors import ConfigError
from harness.llm.answer import letters

if TYPE_CHECKING:
    from harness.types import Item

DEFAULT_TEMPLATE = """\
Answer the following multiple-choice question.

$text

$options

Think as long as you need to, then end with a line that holds only:
### X
where X is one of $letters.
"""

FIELDS = ("text", "options", "names", "letters")


def check_template(template: str) -> str:
    """Return the template if it can be filled in.

    Raises
    ------
    ConfigError
        If it does not contain ``$text`` or has an unknown field; ``$$`` writes a dollar sign.
    """
    parsed = Template(template)
    fields = set(parsed.get_identifiers()) if parsed.is_valid() else None
    if fields is None:
        raise ConfigError("prompt template: a $ stands alone; write $$ for a dollar sign")
    unknown = sorted(fields - set(FIELDS))
    if unknown:
        known = ", ".join(f"${name}" for name in FIELDS)
        raise ConfigError(f"prompt template: unknown field ${unknown[0]}; known are {known}")
    if "text" not in fields:
        raise ConfigError("prompt template: $text is missing, so every prompt would be the same")
    return template


def render(template: str, item: Item, max_words: int | None = None) -> str:
    """Fill a template in for one item.

    ``$text`` is the item's text (its first `max_words` words), ``$options`` the lettered options
    in display order, one a line, ``$names`` the options in display order separated by commas,
    ``$letters`` the letters.
    """
    names = letters(len(item.options))
    text = item.text
    if max_words is not None and len(text.split()) > max_words:
        text = " ".join(text.split()[:max_words])
    return Template(template).substitute(
        text=text,
        options="\n".join(f"({n}) {o}" for n, o in zip(names, item.shown_options, strict=True)),
        names=", ".join(item.shown_options),
        letters=", ".join(names),
    )
