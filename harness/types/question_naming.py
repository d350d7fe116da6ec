"""Ids of questions: what defines a question, hashed, and sealed with the secret key of its study."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

_DIGITS = 16


def question_ids(protocol: str, seed: int, asked: Iterable[tuple[str, int]]) -> list[str]:
    """Hash what defines each question, given by item and option: 16 hexadecimal digits of SHA-256.

    Anybody who knows the seed can compute these ids; `seal_ids` makes the ids that are stored.

    Examples
    --------
    >>> question_ids("partitioned", 7, [("note-1", 2)])
    ['65e05b5510ac2cf8']
    """
    start, hashed = f"{protocol}\x1f{seed}\x1f", hashlib.sha256
    return [hashed(f"{start}{item}\x1f{option}".encode()).hexdigest()[:_DIGITS] for item, option in asked]


def question_id(protocol: str, seed: int, item_id: str, option: int) -> str:
    """Hash what defines one question; see `question_ids`."""
    return question_ids(protocol, seed, [(item_id, option)])[0]


def control_id(kind: str, seed: int, item_id: str, option: int, expert: str) -> str:
    """Hash what defines a control question, in the form of `question_ids`."""
    told = "\x1f".join(("control", kind, str(seed), item_id, str(option), expert))
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]


def is_erased(name: str) -> bool:
    """Whether a name stands for an expert whose name was erased.

    Examples
    --------
    >>> is_erased("erased-4f2a9c"), is_erased("ana")
    (True, False)
    """
    return name.startswith("erased-")


def seal_ids(key: bytes, ids: Iterable[str]) -> list[str]:
    """Hash ids with a study's secret key (HMAC-SHA256), so that nobody without the key can compute them.

    Studies that an older version began have no key (empty): their ids stay as they are.

    Examples
    --------
    >>> seal_ids(b"", ["65e05b5510ac2cf8"])
    ['65e05b5510ac2cf8']
    >>> seal_ids(b"another key", ["65e05b5510ac2cf8"])
    ['f14906919123829a']
    """
    if not key:
        return list(ids)
    return [hmac.digest(key, name.encode(), "sha256").hex()[:_DIGITS] for name in ids]
