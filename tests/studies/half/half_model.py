"""A model of this study that needs no network: its answer depends only on the prompt and the key."""

from __future__ import annotations

import csv
import json
import re
import zlib
from pathlib import Path

HERE = Path(__file__).parent
IN_FIELDS = False


def answer(prompt: str) -> str:
    """Name an option: right for most notes, and for more of them where the prompt is a longer one."""
    with (HERE / "items.csv").open(encoding="utf-8", newline="") as stream:
        texts = {row["id"]: row["text"] for row in csv.DictReader(stream)}
    with (HERE / "key.csv").open(encoding="utf-8", newline="") as stream:
        key = {row["id"]: row["label"] for row in csv.DictReader(stream)}
    item = max(texts, key=lambda name: prompt.rfind(texts[name]))
    draw = zlib.crc32(f"{item} {len(prompt) // 50}".encode()) % 100
    classes = sorted(set(key.values()))
    right = draw < min(90, 30 + len(prompt) // 50)
    said = key[item] if right else classes[(classes.index(key[item]) + 1) % len(classes)]
    if draw % 11 == 0:
        return "I would rather not say."
    letter = [*re.findall(rf"\((\w)\) {said}", prompt), "A"][0]
    fields = {"thinking": "It fits.", "feedback": "None.", "correct": "True", "answer": letter}
    return json.dumps(fields) if IN_FIELDS else said
