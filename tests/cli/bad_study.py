"""Bad study files, items and rosters."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.bad import STUDY, Bad, edit, put

CHECK, ROUTE = "items check", "label route"


def parquet_cut_short() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": ["a"], "text": ["t"]}), "items.parquet")
    Path("items.parquet").write_bytes(Path("items.parquet").read_bytes()[:-9])
    edit("study.toml", "items.csv", "items.parquet")()


def own_options(row: dict[str, object]) -> Callable[[], None]:
    def change() -> None:
        Path("items.jsonl").write_text(
            json.dumps({"id": "a", "text": "t", "options": ["x", "y"]}) + "\n" + json.dumps(row)
        )
        edit("study.toml", 'file = "items.csv"\nclasses = ["red", "green", "blue"]', 'file = "items.jsonl"')()

    return change


CASES = [
    Bad("no study", lambda: Path("study.toml").unlink(), CHECK, "study.toml: there is no such study file"),
    Bad("broken TOML", put("study.toml", "[study\n"), CHECK, "study.toml:1: not valid TOML"),
    Bad(
        "unknown key",
        edit("study.toml", "[models.m]", "colour = 1\n[models.m]"),
        CHECK,
        "study.toml:6 [items.colour]: unknown key",
    ),
    Bad(
        "setting of endpoints",
        edit("study.toml", "[models.m]", "[models.m]\nshared_limits = true"),
        CHECK,
        "study.toml:7 [models.m.shared_limits]: not a setting of this section: set it under [endpoints.NAME]",
    ),
    Bad(
        "unknown section",
        put("study.toml", STUDY + "[modles]\n"),
        CHECK,
        "study.toml:10 [modles]: unknown key",
    ),
    Bad(
        "wrong type",
        edit("study.toml", '"items.csv"', "7"),
        CHECK,
        "study.toml:4 [items.file]: input should be a valid string, is 7",
    ),
    Bad("section missing", put("study.toml", '[items]\nfile = "items.csv"'), CHECK, "[study]: is missing"),
    Bad(
        "level of 1",
        put("study.toml", STUDY + "[estimate]\nlevel = 1.0\n"),
        CHECK,
        "study.toml:11 [estimate.level]",
    ),
    Bad("K = 1", edit("study.toml", '"red", "green", "blue"', '"red"'), CHECK, "at least 2 classes"),
    Bad("class twice", edit("study.toml", '"green"', '"red"'), CHECK, "a class occurs twice"),
    Bad(
        "no source",
        edit("study.toml", 'file = "items.csv"', ""),
        CHECK,
        "give a file, a preset or a hub data set",
    ),
    Bad(
        "unknown preset",
        edit("study.toml", "file =", 'preset = "nope"\nfile ='),
        CHECK,
        "there is no preset 'nope'",
    ),
    Bad(
        "classes beside a preset",
        edit("study.toml", "file =", 'preset = "medical-abstracts"\nfile ='),
        CHECK,
        "classes: the preset 'medical-abstracts' defines this already; leave it out of [items]",
    ),
    Bad(
        "file and hub",
        edit("study.toml", "file =", 'hub = "some/set"\nfile ='),
        CHECK,
        "hub: a file is also given; leave one out",
    ),
    Bad(
        "split of a file",
        edit("study.toml", "file =", 'split = "train"\nfile ='),
        CHECK,
        "split: applies only to a hub data set, but a file is given; leave one out",
    ),
    Bad(
        "key of no preset",
        lambda: None,
        "items export out.jsonl sealed.csv",
        "--key: only presets contain the true answers, and this study uses no preset",
    ),
    Bad(
        "items and key in one file",
        lambda: None,
        "items export out.jsonl ./out.jsonl",
        "out.jsonl is given for both the items and the true answers; give --key another file",
    ),
    Bad("export over a file", lambda: None, "items export items.csv", "items.csv exists already"),
    Bad("no items file", lambda: Path("items.csv").unlink(), CHECK, "items.csv: there is no such file"),
    Bad("no items", put("items.csv", "id,text\n"), CHECK, "items.csv: the source contains no items"),
    Bad(
        "missing column",
        edit("items.csv", "id,text", "id,body"),
        CHECK,
        "items.csv:2 [text]: there is no such column; there are: id, body",
    ),
    Bad(
        "duplicate id",
        edit("items.csv", "i3,", "i1,"),
        CHECK,
        "items.csv:5 [id]: the id 'i1' was used in line 3",
    ),
    Bad("empty text", edit("items.csv", "text 4", " "), CHECK, "items.csv:6 [text]: is empty"),
    Bad("wrong encoding", put("items.csv", b"id,text\na,caf\xe9\n"), CHECK, "items.csv:2: not UTF-8"),
    Bad(
        "ragged row",
        put("items.csv", "id,text\na,b,c\n"),
        CHECK,
        "items.csv:2: 3 values, but the header has 2",
    ),
    Bad("truncated Parquet", parquet_cut_short, CHECK, "items.parquet:1: not a complete Parquet file"),
    Bad(
        "one option",
        own_options({"id": "b", "text": "t", "options": ["x"]}),
        CHECK,
        "items.jsonl:2 [options]: an item needs at least 2",
    ),
    Bad(
        "option twice",
        own_options({"id": "b", "text": "t", "options": ["x", " x"]}),
        CHECK,
        "items.jsonl:2 [options]: the option 'x' occurs twice, in the item 'b'",
    ),
    Bad(
        "changed item",
        edit("items.csv", "text 2", "text two"),
        ROUTE,
        "the item 'i2' is stored with another text",
    ),
    Bad(
        "no roster",
        lambda: Path("experts.toml").unlink(),
        ROUTE,
        "experts.toml: there is no such roster file",
    ),
    Bad(
        "expert for an unknown class",
        edit("experts.toml", '["red"]', '["pink"]'),
        ROUTE,
        "unknown class 'pink'; classes are red, green, blue",
    ),
    Bad(
        "class without expert",
        edit("experts.toml", 'classes = ["blue"]', 'classes = ["red"]'),
        ROUTE,
        "no expert is present for the class 'blue'",
    ),
    Bad(
        "absent expert",
        edit("experts.toml", 'classes = ["blue"]', 'classes = ["blue"]\nabsent = true'),
        ROUTE,
        "no expert is present for the class 'blue'",
    ),
    Bad(
        "name twice",
        edit("experts.toml", 'name = "green"', 'name = "red"'),
        ROUTE,
        "[expert 2]: the name 'red' is used twice",
    ),
    Bad(
        "no capacity",
        edit("experts.toml", 'classes = ["blue"]', 'classes = ["blue"]\ncapacity = 1'),
        ROUTE,
        "at capacity",
    ),
    Bad(
        "seed changed",
        edit("study.toml", 'name = "t"', 'name = "t"\nseed = 9'),
        ROUTE,
        "cannot change once questions are drawn",
    ),
]
