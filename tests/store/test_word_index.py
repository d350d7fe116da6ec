"""Items by their words, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from oversight.harness import DataError, StoreError
from oversight.harness.store import Store
from oversight.harness.store.full_text.full_text_index import clear_words
from oversight.harness.types import Item

TEXTS = {
    "Isn't it 50 % of 3.5mg?": ["isn t it", "OF 50", "it", "3.5mg"],
    "naïve Ｆｕｌｌ straße Ünïque": ["NAIVE", "full", "STRASSE", "ｎaïv", "unique", "e1 naïve"],
    "NEAR and OR": ["near or", "AND", "near and OR"],
    "snake_case, e-mail a@b.org": ["snake case", "mail e", "b.org", "snake_cas"],
    "发烧三天 кашель حمى": ["发烧", "三天", "烧", "天", "КАШЕЛЬ", "حمى", "каш"],
    "東京でラーメンを食べた。": ["東京", "ラーメン", "食べ", "た", "ラー"],
    "बुखार और खाँसी": ["बुखार", "खाँ"],
    "คนไข้มีไข้": ["มีไข้", "คนไข้"],
    "x" * 70: ["X" * 70, "x" * 64, "x" * 5],
}
NOT_THERE = ["isnt", "aive", "ull", "5mgs", "烧发", "三 烧 x", "बखर", "ーラ", "near nothing", "nothing near"]
HOSTILE = [
    *(
        "'",
        '"',
        '"fever',
        "'fever'",
        "\\",
        "%",
        "_",
        "fe%",
        "*",
        "fe*",
        "^fever",
        "-fever",
        "+",
        "()",
        "(fever",
    ),
    *(
        "fever AND",
        "NOT fever",
        "fever NEAR(cough)",
        "NEAR(",
        "words:fever",
        "{words}:fever",
        "fever:*",
        "<->",
    ),
    *("fever & !", "fever\x00", "\x00", "\ud800", "😀", "👩 fever", "\u202erevef", "; DROP TABLE item; --"),
    *(
        "' OR 1=1 --",
        ":query",
        "\n\t",
        "e\u0301\u0301",
        "\u0301",
        "$$",
        "?",
        ":a",
        "'" * 10_000,
        "x" * 10_000,
    ),
    *("x " * 5_000, " ".join(f"w{j}" for j in range(2_000)), "发" * 10_000, "é" * 10_000, "\\u0000", "𠀀𠀁"),
]
KILLED = """
import os, signal, sys
import sqlalchemy as sa
from oversight.harness.store import Store
from oversight.harness.store.full_text import full_text_index

full_text_index._PORTION = 100
left = 3

@sa.event.listens_for(sa.Engine, "before_cursor_execute")
def count(connection, cursor, statement, *others):
    global left
    left -= statement.startswith("INSERT INTO item_words") and "rank" not in statement
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

Store(sys.argv[1]).words.find_items("text")
"""


def item(name: str, text: str, options: tuple[str, ...] = ("a", "b")) -> Item:
    return Item(name, text, options, tuple(range(len(options))))


def find(store: Store, text: str) -> list[int]:
    return sorted(store.words.find_items(text).tolist())


def make_old(url: str, n: int) -> None:
    """A study whose items wait for the first search."""
    with Store(url) as store:
        store.content.add_items(item(f"i{j}", f"text {j}") for j in range(n))
        with store.transaction() as connection:
            clear_words(connection)


def count_indexed(url: str) -> int:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        number = connection.execute(sa.text("SELECT count(*) FROM item_words")).scalar_one()
    engine.dispose()
    return int(number)


def test_words_are_found_whatever_stands_between_them(url: str) -> None:
    with Store(url) as store:
        store.content.add_items(item(f"e{j}", text) for j, text in enumerate(TEXTS))
        for place, queries in enumerate(TEXTS.values()):
            for query in queries:
                assert place in find(store, query), query
        for query in NOT_THERE:
            assert find(store, query) == [], query


def test_ids_and_options_are_searched_too(url: str) -> None:
    with Store(url) as store:
        store.content.add_items(
            [item("case-17", "text", ('quo"te\nline', "b")), item("i", "text", ("Größe", "b"))]
        )
        for query, found in {
            "case 17": [0],
            "17": [0],
            "line": [0],
            "quo te": [0],
            "grosse": [1],
            "b": [0, 1],
        }.items():
            assert find(store, query) == found, query


def test_only_the_last_word_may_be_a_beginning(url: str) -> None:
    with Store(url) as store:
        store.content.add_items([item("i", "fever cough")])
        assert find(store, "fever cou") == find(store, "fev") == [0]
        assert find(store, "fev cough") == find(store, "fe") == []


def test_whatever_is_typed_is_plain_text(url: str) -> None:
    with Store(url) as store:
        store.content.add_items([item("i", "fever"), item("j", "other")])
        there = [{"i", "fever", "a", "b"}, {"j", "other", "a", "b"}]
        for query in HOSTILE:
            *whole, last = re.findall(r"[^\W_]+", query.casefold()) or [" "]
            meet = [
                words >= {*whole} and any(w.startswith(last) and (w == last or len(last) > 2) for w in words)
                for words in there
            ]
            assert find(store, query) == np.flatnonzero(meet).tolist(), query
        assert find(store, "👩 fever") == find(store, "fever\x00") == find(store, '"fever') == [0]
        assert find(store, "fever AND") == find(store, "") == find(store, "😀") == []


def test_a_very_long_text_is_stored_and_found(url: str) -> None:
    text = " ".join(f"word{j:x}ü" for j in range(200_000))
    with Store(url) as store:
        store.content.add_items([item("i", text)])
        assert find(store, "word1ü WORD77Ü") == [0]


def test_items_that_come_later_are_found_and_failed_imports_leave_nothing(url: str) -> None:
    with Store(url) as store:
        store.content.add_items([item("i", "first")])
        store.content.add_items([item("i", "first"), item("j", "second")])
        assert (find(store, "first"), find(store, "second")) == ([0], [1])
        with pytest.raises(DataError, match="occurs twice"):
            store.content.add_items([item("k", "third"), item("k", "third")])
        assert find(store, "third") == []
        store.content.add_items([item("k", "fourth")])
        assert find(store, "fourth") == [2]


def test_an_older_study_is_indexed_at_the_first_search(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oversight.harness.store.full_text.full_text_index._PORTION", 100)
    make_old(url, 250)
    with Store(url) as store:
        # the new item waits to be indexed, like all others
        store.content.add_items([item("new", "text 250")])
        assert count_indexed(url) == 0
        assert (find(store, "text 250"), len(find(store, "text"))) == ([250], 251)
        assert count_indexed(url) == 251


def test_search_after_a_kill_continues_indexing(url: str) -> None:
    make_old(url, 450)
    done = subprocess.run([sys.executable, "-c", KILLED, url], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert count_indexed(url) == 200
    with Store(url) as store:
        assert find(store, "text") == list(range(450))
        assert find(store, "text 449") == [449]


def test_an_unfinished_index_is_not_searched(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    make_old(url, 3)
    with Store(url) as store:
        store.read_only = True
        with pytest.raises(StoreError, match="3 items are not in the search index yet, and this"):
            store.words.find_items("text")
