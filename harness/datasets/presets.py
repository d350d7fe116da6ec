"""Public benchmarks by name: a row of the published file becomes an item and its answer.

Each preset reads a local file (any format of `harness.datasets.rows`) or the hub. The answer is
used only as a sealed key, for simulated experts and for checking estimates against the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from harness.datasets.item_files import iterate_items
from harness.datasets.item_mapping import ItemMapping
from harness.datasets.row import Row
from harness.datasets.rows import read_hub, read_rows
from harness.errors import BadInput
from harness.types import Item, fold_text

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Preset:
    """How one benchmark is read.

    Attributes
    ----------
    convert
        Fields of a published row → ``{"text", "options", "answer"}`` with the answer as the index
        of the true option, and ``"id"`` where the source has one; None leaves the row out.
    hub, config, split
        Where the hub keeps it.
    classes
        Fixed classes, where the options are the same for every item.
    meta
        Fields kept for strata.
    distinct
        Whether rows that repeat an earlier text and options, or that have an option twice, are
        left out, as the paper does for its four benchmarks. Otherwise the id is the row's number.
    """

    convert: Callable[[Mapping[str, Any]], Fields | None]
    hub: str
    config: str | None = None
    split: str = "test"
    classes: tuple[str, ...] = ()
    meta: tuple[str, ...] = ()
    distinct: bool = True


def read_preset(
    name: str, file: str | Path | None = None, *, seed: int = 0, limit: int | None = None
) -> tuple[list[Item], dict[str, int]]:
    """Read a benchmark: its items, and the sealed key (item id → true option).

    Parameters
    ----------
    name
        One of `PRESETS`.
    file
        Local file; None reads from the hub.
    seed
        Seed of the shuffle of the options.
    limit
        Read at most so many items.

    Raises
    ------
    BadInput
        If there is no such preset.
    DataError
        If a row is not as the benchmark publishes it.
    """
    if name not in PRESETS:
        raise BadInput(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    preset = PRESETS[name]
    rows = read_hub(preset.hub, config=preset.config, split=preset.split) if file is None else read_rows(file)
    mapping = ItemMapping(classes=preset.classes, meta=preset.meta, seed=seed)
    kept = list(islice(_converted(rows, preset, name), limit))
    items = list(iterate_items(kept, mapping, str(file or preset.hub)))
    truth = {item.id: int(row.fields["answer"]) for item, row in zip(items, kept, strict=True)}
    return items, truth


def _converted(rows: Iterable[Row], preset: Preset, name: str) -> Iterator[Row]:
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        try:
            fields = preset.convert(row.fields)
        except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
            raise row.error(None, f"not a row of {name}: {error!r}") from None
        if fields is None:
            continue
        if preset.distinct:
            options = [fold_text(option) for option in fields.get("options", ())]
            content = json.dumps([fields["text"], options])
            if content in seen or len(set(options)) < len(options):
                continue
            seen.add(content)
        else:
            fields["id"] = f"{name}-{number}"
        yield Row(row.file, row.line, fields)


MEDICAL_ABSTRACTS_CLASSES = (
    "neoplasms",
    "digestive system diseases",
    "nervous system diseases",
    "cardiovascular diseases",
    "general pathological conditions",
)

EDINET_INDUSTRIES = (
    "食品",
    "電気・ガス・エネルギー資源",
    "建設・資材",
    "素材・化学",
    "医薬品",
    "自動車・輸送機",
    "鉄鋼・非鉄",
    "機械",
    "電機・精密",
    "情報通信・サービスその他",
    "運輸・物流",
    "商社・卸売",
    "小売",
    "銀行",
    "金融（除く銀行）",
    "不動産",
)
"""The 33 industries of the Tokyo exchange in 17 sectors, with the two energy sectors as one."""


def _medical_abstracts(row: Mapping[str, Any]) -> Fields:
    answer = int(row["condition_label"]) - 1
    if not 0 <= answer < len(MEDICAL_ABSTRACTS_CLASSES):
        raise ValueError(f"condition_label {row['condition_label']!r} is not 1 to 5")
    return {"text": row["medical_abstract"], "answer": answer}


def _mmlu_pro(row: Mapping[str, Any]) -> Fields | None:
    options = list(row["options"])
    if len(options) != 10:
        return None
    answer = ord(str(row["answer"]).strip()) - ord("A")
    if not 0 <= answer < len(options):
        raise ValueError(f"answer {row['answer']!r} is none of {len(options)} options")
    return {
        "id": f"mmlu-pro-{row['question_id']}",
        "text": row["question"],
        "options": options,
        "answer": answer,
        "category": row["category"],
    }


def _medqa(row: Mapping[str, Any]) -> Fields:
    options = row["options"] if isinstance(row["options"], dict) else json.loads(row["options"])
    letters = sorted(options)
    answer = row["answer_idx" if "answer_idx" in row else "answer"]
    return {
        "text": row["question"],
        "options": [options[letter] for letter in letters],
        "answer": letters.index(str(answer)),
    }


def _gpqa(row: Mapping[str, Any]) -> Fields:
    wrong = [row[f"Incorrect Answer {j}"] for j in (1, 2, 3)]
    return {
        "id": str(row["Record ID"]),
        "text": row["Question"],
        "options": [row["Correct Answer"], *wrong],
        "answer": 0,
        "High-level domain": row["High-level domain"],
    }


def _math_mc(row: Mapping[str, Any]) -> Fields:
    letters = [letter for letter in "ABCDE" if row.get(letter) not in (None, "")]
    return {
        "text": row["Question"] if "Question" in row else row["question"],
        "options": [str(row[letter]) for letter in letters],
        "answer": letters.index(str(row["Answer"] if "Answer" in row else row["answer"]).strip()),
        "Type": row.get("Type", ""),
    }


def _edinet(row: Mapping[str, Any]) -> Fields:
    parts = [f"{name}: {row[name]}" for name in ("summary", "bs", "pl", "cf") if row.get(name)]
    return {"text": "\n".join(parts), "answer": EDINET_INDUSTRIES.index(row["industry"])}


PRESETS: Mapping[str, Preset] = {
    "medical-abstracts": Preset(
        _medical_abstracts, "TimSchopf/medical_abstracts", classes=MEDICAL_ABSTRACTS_CLASSES, distinct=False
    ),
    "mmlu-pro": Preset(_mmlu_pro, "TIGER-Lab/MMLU-Pro", meta=("category",)),
    "medqa": Preset(_medqa, "GBaker/MedQA-USMLE-4-options"),
    "gpqa": Preset(_gpqa, "Idavidrein/gpqa", "gpqa_extended", "train", meta=("High-level domain",)),
    "math-mc": Preset(_math_mc, "guipenedo/math-mc", meta=("Type",)),
    "edinet-bench": Preset(
        _edinet,
        "SakanaAI/EDINET-Bench",
        "industry_prediction",
        "train",
        classes=EDINET_INDUSTRIES,
        distinct=False,
    ),
}
