from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from oversight.harness import ConfigError, TransientModelError
from oversight.harness.output import keep_secret, make_printable, make_storable, redact
from oversight.harness.output.safe_text import _secrets

KEY = "sk-Hidden/key+1234"


@pytest.fixture(autouse=True)
def secrets() -> Iterator[None]:
    keep_secret(KEY)
    yield
    for form in list(_secrets):
        del _secrets[form]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"refused: {KEY}.", "refused: [redacted]."),
        ("at ?k=sk-Hidden%2Fkey%2B1234&x=1", "at ?k=[redacted]&x=1"),
        ("postgresql://ana:p@ss/word:1@db:5432/s", "postgresql://ana:***@db:5432/s"),
        ("['postgresql+psycopg://ana:secret@db/s']", "['postgresql+psycopg://ana:***@db/s']"),
        ("postgresql://db/s?user=ana&password=secret", "postgresql://db/s?user=ana&password=***"),
        ("http://127.0.0.1:8000/v1 and a@b.org", "http://127.0.0.1:8000/v1 and a@b.org"),
        ("http://host:80/a@b", "http://host:80/a@b"),
    ],
)
def test_secrets_are_replaced_in_messages(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert str(ConfigError(text)) == str(TransientModelError(text)) == shown


@pytest.mark.parametrize("word", ["", "none", "1234567", "postgres", "password"])
def test_ordinary_words_are_no_secrets(word: str) -> None:
    keep_secret(word)
    assert redact("none 1234567 postgres password") == "none 1234567 postgres password"


def test_control_characters_are_shown_and_stay_the_same_json() -> None:
    odd = "a\tb\nc\x1b[2J\r\x07\x7f\x9b1A\u202e\u2066\u2028\ud800é😀"
    shown = make_printable(odd)
    assert shown == r"a\u0009b".replace(r"\u0009", "\t") + "\nc" + (
        r"\u001b[2J\u000d\u0007\u007f\u009b1A\u202e\u2066\u2028\ud800é😀"
    )
    printed = json.dumps([odd, {"k": odd}], ensure_ascii=False, indent=2)
    assert json.loads(make_printable(printed)) == [odd, {"k": odd}]
    assert make_printable(shown) == shown


def test_stored_text_loses_only_secrets_nul_and_half_pairs() -> None:
    text = f"see postgresql://a:b@c \x1b[0m é\0\udfff {KEY}"
    assert make_storable(text) == "see postgresql://a:b@c \x1b[0m é\\u0000\\udfff [redacted]"
