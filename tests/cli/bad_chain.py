"""Bad answers, keys, models and databases: what is wrong after the questions are drawn."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.cli.bad import STUDY, Bad, edit, in_store, put

RUN, IMPORT = "run", "label import bad.csv"


def first_question(verdict: str, **fields: str) -> Callable[[], None]:
    """Write a file with the first open question of the expert red, changed in some fields."""

    def change() -> None:
        header, *rows = Path("questions/questions-green.csv").read_text().splitlines()
        values = dict(zip(header.split(","), rows[0].split(","), strict=True))
        values.update(fields, answer=verdict)
        Path("bad.csv").write_text(header + "\n" + ",".join(values.values()) + "\n")

    return change


def two_answers() -> None:
    first_question("yes")()
    text = Path("bad.csv").read_text()
    Path("bad.csv").write_text(text + text.splitlines()[1].replace(",yes,", ",no,") + "\n")


def other_answer_than_before() -> None:
    shutil.copy("questions/questions-red.csv", "bad.csv")
    edit("bad.csv", ",no,", ",yes,")()


CASES = [
    Bad(
        "unasked question",
        first_question("no", question_id="0000"),
        IMPORT,
        "bad.csv:2 [question_id]: the question '0000' was never asked",
    ),
    Bad(
        "another's question",
        first_question("no", expert="mallory"),
        IMPORT,
        "bad.csv:2 [expert]: the question was put to 'green', not to 'mallory'",
    ),
    Bad(
        "verdict maybe",
        first_question("maybe"),
        IMPORT,
        "bad.csv:2 [answer]: must be yes, no, unsure or skip, is 'maybe'",
    ),
    Bad("two answers", two_answers, IMPORT, "bad.csv:3 [answer]: second answer 'no'; the first was 'yes'"),
    Bad(
        "other than before",
        other_answer_than_before,
        IMPORT,
        "[answer]: is 'yes', but 'no' is already stored",
    ),
    Bad(
        "foreign file",
        put("bad.csv", "a,b\n1,2\n"),
        IMPORT,
        "bad.csv:2 [question_id]: there is no such column",
    ),
    Bad("files there", lambda: None, "label export", "already exists and may contain answers"),
    Bad("no key", lambda: None, "label simulate", "the true labels are needed: give their file"),
    Bad(
        "key lacks an item",
        put("key.csv", "id,label\ni0,red\n"),
        "label simulate --key key.csv",
        "key.csv:2 [id]: no answer for 8 items",
    ),
    Bad(
        "impossible rate",
        lambda: None,
        "label simulate --key key.csv --abstention 2",
        "abstention must be a probability, is 2.0",
    ),
    Bad("unknown model", lambda: None, "run --model large", "there is no model 'large'; there are: m"),
    Bad(
        "no model", edit("study.toml", STUDY[STUDY.index("[models") :], ""), RUN, "study.toml names no model"
    ),
    Bad(
        "no API key",
        edit("study.toml", "http://127.0.0.1:9/v1", "https://example.org/v1"),
        RUN,
        "environment variable OPENAI_API_KEY is not set",
    ),
    Bad(
        "no template",
        put("study.toml", STUDY + '[prompt]\ntemplate = "p.txt"\n'),
        RUN,
        "p.txt: the prompt template cannot be read",
    ),
    Bad(
        "template with an unknown field",
        lambda: (
            put("p.txt", "$text $label")(),
            put("study.toml", STUDY + '[prompt]\ntemplate = "p.txt"\n')(),
        ),
        RUN,
        "unknown field $label",
    ),
    Bad("no predictions", lambda: None, "estimate", "no model was run yet"),
    Bad(
        "no database",
        put("study.db", b"not a database at all" * 99),
        "label status",
        "the database cannot be used: file is not a database",
    ),
    Bad(
        "newer schema",
        in_store("UPDATE alembic_version SET version_num = '9999'"),
        "label status",
        "written by a newer version of oversight (schema 9999",
    ),
    Bad("unknown verb", lambda: None, "lable", "there is no verb 'lable'"),
    Bad("init over a study", lambda: None, "init", "study.toml exists already"),
]
