"""Write and read cells of spreadsheets so that texts do not become formulas or numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import numpy as np

from oversight.harness.output import guard_cell, join_lines, unguard_cell
from oversight.harness.store import mark_shown
from oversight.harness.types import Item
from oversight.protocols.collect.question_texts import fill_question

SHOWN = ("text", "options", "question")
"""Columns that show the question."""
QUESTION_PREFIX, ASSIGNMENT_PREFIX = "q-", "a-"
"""Prefix that makes an id a text, because spreadsheets read ``12345678e9012345`` as a number."""
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_CHECK = re.compile("(?<=^[0-9a-f]{16})-[0-9a-f]{8}$")
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff\ufffd\ufffe\uffff]")
"""Characters that workbooks cannot contain, or that programs drop."""

ReadCell = Callable[[str], str]


def write_cells(item: Item, option: int | None = None, question_text: str | None = None) -> dict[str, str]:
    """Return an item's exported texts by column, with the question about `option` if an option is given."""
    options, questions = write_options(item.options, item.permutation, question_text)
    cells = {"text": item.text, "options": options}
    return cells if option is None else cells | {"question": questions[option]}


def write_options(
    options: tuple[str, ...], permutation: tuple[int, ...], question_text: str | None = None
) -> tuple[str, Sequence[str]]:
    """Return the exported text that lists an item's options, and the question about each option.

    If `question_text` is None, questions are in English. An item about an open answer has one option, which
    is the question itself.
    """
    if len(options) == 1:
        return "", options
    shown = " | ".join([options[j] for j in permutation])
    if question_text is not None:
        return shown, [fill_question(question_text, option) for option in options]
    return shown, [f"Is the answer: {option}?" for option in options]


def mark_cells(cells: Mapping[str, str]) -> int:
    """Return a hash of the exported texts of one question."""
    return mark_shown(*([cells[column]] for column in SHOWN))[0]


def write_checks(cells: Sequence[Sequence[str]], key: int) -> str:
    """Return one text with a checksum of each row's exported text, as eight hexadecimal digits per row.

    `cells` are the columns of `SHOWN`, as written to the file. The checksums depend on `key`.
    """
    texts, options, questions = cells
    found = np.fromiter(map(crc32, map(str.encode, texts)), np.uint32, len(texts))
    found ^= np.fromiter(map(_check_question, options, questions), np.uint32, len(texts))
    return (found ^ np.uint32(key)).astype(">u4").tobytes().hex()


@lru_cache(maxsize=4096)  # cached, because many rows have the same options and question
def _check_question(options: str, question: str) -> int:
    return crc32(f"{options}\x1f{question}".encode())


def guard(text: str) -> str:
    """Convert a text to a cell that is not a formula and keeps its line breaks."""
    return guard_cell(join_lines(text))


def escape(text: str) -> str:
    """Escape a text for a workbook: Excel decodes ``_x0041_`` and cannot store some characters."""
    return _UNSEEN.sub("\ufffd", _ESCAPED.sub(r"_x005F_x\1_", join_lines(text)))


def unescape(text: str) -> str:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def cell_reader(path: str | Path) -> ReadCell:
    """Return the function that undoes the export's changes to a cell, chosen by the file's ending."""
    suffixes = {suffix.lower() for suffix in Path(path).suffixes}
    if suffixes & {".csv", ".tsv", ".txt"}:
        return lambda text: unguard_cell(join_lines(text))
    return (lambda text: join_lines(unescape(text))) if ".xlsx" in suffixes else str


def read_id(text: str, prefix: str) -> str:
    """Return the stored form of an id: remove the prefix and the checksum that exported files add."""
    return _CHECK.sub("", text.strip().removeprefix(prefix))


def is_same(said: str, shown: str) -> bool:
    """Whether a filled-in cell `said` still has the text `shown` that was exported.

    White space is ignored, and so are the characters that the export adds to prevent formulas.
    """
    wanted = _fold(shown)
    return any(_fold(text) == wanted for text in (said, unguard_cell(join_lines(said)), unescape(said)))


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", _UNSEEN.sub("", text)).split())
