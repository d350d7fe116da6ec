"""Assemble the page from its HTML, style and script, with a Content-Security-Policy.

The served page and the exported file run the same script. The policy of the exported file allows the script
by its hash.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from oversight.harness.web import NOWHERE, read_script

FOLDER = Path(__file__).parent / "page"


@cache
def read_style() -> str:
    """Return the style sheet."""
    return (FOLDER / "style.css").read_text(encoding="utf-8")


def make_page() -> str:
    """Return the page that requests its data from a server."""
    head = (
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="style.css">\n'
        '<script type="module" src="script.js"></script>'
    )
    return _read_frame().replace("<!-- head -->", head).replace("<!-- data -->", "")


def make_file(data: bytes) -> list[bytes]:
    """Return the pieces of a page that contains its data as JSON and therefore sends no requests."""
    script, style = f"\n{read_script(FOLDER)}", f"\n{read_style()}"
    policy = f"{NOWHERE}; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:"
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
        f'<script type="module">{script}</script>'
    )
    # Escape "<" in JSON, so that data cannot end the script element or begin a comment.
    kept = data.replace(b"<", b"\\u003c")
    before, _, rest = _read_frame().partition("<!-- head -->")
    middle, _, after = rest.partition("<!-- data -->")
    start = f'{before}{head}{middle}<script type="application/json" id="data">'
    return [start.encode(), kept, f"</script>{after}".encode()]


def _read_frame() -> str:
    return (FOLDER / "page.html").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
