"""Count which difficult replies are read correctly, read as another option, or not read, by kind of reply.

The replies are in ``tests/reading``. One writer wrote all of them without knowledge of the reader, and a seed
split every kind into two halves. ``open_replies.jsonl`` was used to develop the reader; of
``held_replies.jsonl``, only the counts of this benchmark were used. The replies were chosen because they are
difficult, so the shares do not say how often models write such replies.

    python benchmarks/reading.py [--quick]
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks._options import read_options
from oversight.harness.llm import read_reply

REPLIES = Path(__file__).parents[1] / "tests" / "reading"


def load_replies(half: str) -> list[dict[str, Any]]:
    """Load one half of the replies, ``"open"`` or ``"held"``."""
    lines = (REPLIES / f"{half}_replies.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def judge(row: dict[str, Any]) -> str:
    """Return how a reply is read: ``right``, as an ``other`` option, or ``unread``.

    A reply is ``unread`` if it states one answer but no option is found.
    """
    option = read_reply(row["reply"], tuple(row["options"])).option
    if option is None:
        return "unread" if row["states_one_answer"] else "right"
    return "right" if row["options"][option] in {row["expected"], *row["accept"]} else "other"


def count(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return three shares of the replies.

    `other_option` is the share read as another option. Among the replies that state one answer, `read` is the
    share that is read, and `unreadable_stated` the share that is not.
    """
    outcomes = Counter(map(judge, rows))
    stated = sum(row["states_one_answer"] for row in rows)
    return {
        "replies": len(rows),
        "other_option": round(outcomes["other"] / len(rows), 4),
        "read": round(1 - outcomes["unread"] / stated, 4) if stated else None,
        "unreadable_stated": round(outcomes["unread"] / stated, 4) if stated else None,
    }


def main() -> None:
    read_options(__doc__)
    halves = {half: load_replies(half) for half in ("open", "held")}
    for half, rows in halves.items():
        print(json.dumps({"half": half, **count(rows)}))
    print(json.dumps(count([row for rows in halves.values() for row in rows])))


if __name__ == "__main__":
    main()
