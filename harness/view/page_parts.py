"""The page as text: its frame, its style, its script, and what a browser may do with them.

The script is written as modules that import each other, and sent as one: the modules in an order in which
each follows those it imports, without the words that join them. So the served page and the one in a file run
the same text, whose hash a file can name.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

_FOLDER = Path(__file__).parent / "page"
_IMPORT = re.compile(r"^import [^;]*?from \"[a-z_./]*?([a-z_]+)\.js\";\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=async |function |const |let |class )", re.MULTILINE)
_NOWHERE = "default-src 'none'; base-uri 'none'; form-action 'none'"
SERVED_POLICY = (
    f"{_NOWHERE}; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy of the served page: nothing but its own files, and in nobody's frame."""


@cache
def read_script(folder: Path = _FOLDER) -> str:
    """All modules in the folder `script` of a page's folder as one script, which ends with ``main.js``."""
    ordered: list[str] = []
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("script/**/*.js"))}

    def add(name: str) -> None:
        if name not in ordered:
            for needed in _IMPORT.findall(texts[name]):
                add(needed)
            ordered.append(name)

    add("main")
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", texts[name])) for name in ordered)


@cache
def read_style() -> str:
    """The style sheet."""
    return (_FOLDER / "style.css").read_text(encoding="utf-8")


def make_page() -> str:
    """The page that asks a server for its data."""
    head = (
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="style.css">\n'
        '<script type="module" src="script.js"></script>'
    )
    return _read_frame().replace("<!-- head -->", head).replace("<!-- data -->", "")


def make_file(data: bytes) -> list[bytes]:
    """The page that holds its data, JSON, and asks nobody: in parts, as data may be large."""
    script, style = f"\n{read_script()}", f"\n{read_style()}"
    policy = f"{_NOWHERE}; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:"
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
        f'<script type="module">{script}</script>'
    )
    # "<" cannot end the element or begin a comment when it is written as JSON may write it
    kept = data.replace(b"<", b"\\u003c")
    before, _, rest = _read_frame().partition("<!-- head -->")
    middle, _, after = rest.partition("<!-- data -->")
    start = f'{before}{head}{middle}<script type="application/json" id="data">'
    return [start.encode(), kept, f"</script>{after}".encode()]


def _read_frame() -> str:
    return (_FOLDER / "page.html").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
