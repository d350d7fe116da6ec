"""Questions with any texts, and files filled in as people do."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from hypothesis import strategies as st

from oversight.harness.types import Item, Question
from oversight.protocols.routing import Partitioned, one_expert_per_class

CLASSES = ("red", "green, or so", "blue")
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40)
HARD = TEXTS | st.sampled_from(
    [
        "=1+2",
        "'=x",
        "''-",
        "-5 °C",
        "+1",
        "@me",
        "\tx",
        "a\r\nb",
        'say "no"; or, not',
        "1e5",
        "'tis",
        "＝1",
        "",
        "é\u00a0 x",
    ]
)


def ask(texts: list[str], ids: list[str] | None = None) -> tuple[list[Question], dict[str, Item]]:
    items = [Item(f"i{j}", text, CLASSES, (2, 0, 1)) for j, text in enumerate(texts)]
    drawn = Partitioned(one_expert_per_class(CLASSES), seed=3).route(items)
    people = [
        Question(name, q.item_id, q.option, "=ana", 3, q.protocol, q.propensity, q.seed)
        for name, q in zip(ids or [q.id for q in drawn], drawn, strict=True)
    ]
    return people, {item.id: item for item in items}


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def save(
    path: Path, rows: list[dict[str, str]], encoding: str = "utf-8", separator: str = ",", end: str = "\r\n"
) -> Path:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=separator, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def fill(path: Path, said: str = "yes", comment: str = "") -> list[dict[str, str]]:
    return [row | {"answer": said, "comment": comment} for row in read_table(path)]
