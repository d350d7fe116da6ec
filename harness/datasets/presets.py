"""The public benchmarks: where to find them, and how to read their items and sealed keys.

A row that does not match the benchmark is an error that names the bad column. The answers are used only as a
sealed key, for simulated experts and for comparing estimates with the truth.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from oversight.harness.datasets.item_files import ItemMapping, iterate_items
from oversight.harness.datasets.row import Row
from oversight.harness.datasets.rows import read_hub, read_rows
from oversight.harness.errors import BadInput, DataError
from oversight.harness.output import shorten
from oversight.harness.seeding import derive_seed
from oversight.harness.types import Item, fold_text

Fields = dict[str, Any]
Convert = Callable[[Row, int], Fields | str]
"""Converts a row, given the seed of random draws. Returns ``text``, ``options``, ``answer`` (index of the
true option) and, if the source has one, ``id``; for a row that is left out, returns the reason."""

LETTERS = "ABCDEFGHIJ"
MEDICAL_ABSTRACTS_CLASSES = (
    "neoplasms",
    "digestive system diseases",
    "nervous system diseases",
    "cardiovascular diseases",
    "general pathological conditions",
)
_INDUSTRIES = (
    "食品 電気・ガス・エネルギー資源 建設・資材 素材・化学 医薬品 自動車・輸送機 鉄鋼・非鉄 機械"
    " 電機・精密 情報通信・サービスその他 運輸・物流 商社・卸売 小売 銀行 金融（除く銀行） 不動産"
)
EDINET_INDUSTRIES = tuple(_INDUSTRIES.split())
"""The Tokyo exchange's 17 sectors, of which the two energy sectors are merged, so that 16 remain."""


def medical_abstracts(row: Row, _seed: int) -> Fields:
    """Read columns ``condition_label`` (1 to 5) and ``medical_abstract``; the five classes are fixed."""
    answer = row.count("condition_label") - 1 if row.value("condition_label") is not None else -1
    if not 0 <= answer < len(MEDICAL_ABSTRACTS_CLASSES):
        raise row.error("condition_label", f"must be 1 to 5, is {shorten(row.value('condition_label'))}")
    return {"text": _text(row, "medical_abstract"), "answer": answer}


def mmlu_pro(row: Row, _seed: int) -> Fields | str:
    """Read ``question_id``, ``question``, ``options`` (a list), ``answer`` (a letter) and ``category``.

    As in the paper, questions that do not have exactly ten options are left out, so that K is the same for
    all.
    """
    options = row.value("options")
    if not isinstance(options, list):
        raise row.error("options", f"must be a list of options, is {shorten(options)}")
    answer = _place(row, "answer", LETTERS[: len(options)])
    text, name = _text(row, "question"), f"mmlu-pro-{row.value('question_id')}"
    if len(options) != 10:
        return "without exactly ten options"
    fields = {"id": name, "text": text, "options": _filled(row, options), "answer": answer}
    return fields | {"category": _text(row, "category")}


def medqa(row: Row, _seed: int) -> Fields:
    """Read columns ``question``, ``options`` (letter → text) and ``answer_idx`` or ``answer`` (a letter)."""
    options = row.value("options")
    if isinstance(options, str):
        try:
            options = json.loads(options)
        except ValueError:
            options = None
    if not isinstance(options, dict):
        raise row.error("options", f"must be options by letter, is {shorten(row.value('options'))}")
    letters = "".join(sorted(options))
    answer = _place(row, "answer_idx" if "answer_idx" in row.fields else "answer", letters)
    filled = _filled(row, [options[letter] for letter in letters])
    return {"text": _text(row, "question"), "options": filled, "answer": answer}


def gpqa(row: Row, _seed: int) -> Fields:
    """Read the question, correct answer, three incorrect answers, record id and domain of a row."""
    wrong = [_text(row, f"Incorrect Answer {j}") for j in (1, 2, 3)]
    return {
        "id": _text(row, "Record ID"),
        "text": _text(row, "Question"),
        "options": [_text(row, "Correct Answer"), *wrong],
        "answer": 0,
        "High-level domain": _text(row, "High-level domain"),
    }


def math_mc(row: Row, seed: int) -> Fields | str:
    """Read MATH as multiple choice, from rows with candidate answers or with complete questions.

    In a row with columns ``question`` and ``candidates``, the first candidate is the true answer, and the
    other candidates are answers of models. Four distinct wrong answers are drawn, seeded by `seed` and the
    question, so that K is 5 as in the paper; problems with fewer wrong answers are left out. A row with
    columns ``Question``, ``A``, ``B``, … and ``Answer`` is a complete question: each lettered column has one
    option, and ``Answer`` is the letter of the true one.
    """
    if "candidates" in row.fields:
        return _draw_distractors(row, seed)
    letters = "".join(letter for letter in LETTERS if row.fields.get(letter) not in (None, ""))
    if len(letters) < 2:
        raise row.error("candidates", "there is no such column, and no columns A, B, C, … with options")
    return {
        "text": _text(row, "Question" if "Question" in row.fields else "question"),
        "options": [str(row.fields[letter]) for letter in letters],
        "answer": _place(row, "Answer" if "Answer" in row.fields else "answer", letters),
        "Type": row.text("Type"),
    }


DISTRACTORS = 4


def _draw_distractors(row: Row, seed: int) -> Fields | str:
    given = row.value("candidates")
    if not isinstance(given, list) or not given:
        raise row.error("candidates", f"must be a list with the true answer first, is {shorten(given)}")
    text = _text(row, "question")
    true, *others = ("" if candidate is None else str(candidate).strip() for candidate in given)
    if not true:
        raise row.error("candidates", "the first candidate, which is the true answer, is empty")
    different = {fold_text(other): other for other in reversed(others) if other}
    different.pop(fold_text(true), None)
    pool = sorted(different.values())
    if len(pool) < DISTRACTORS:
        return "fewer than four distractors"
    rng = np.random.default_rng(derive_seed(seed, "distractors", text))
    drawn = [pool[j] for j in rng.choice(len(pool), DISTRACTORS, replace=False)]
    return {"text": text, "options": [true, *drawn], "answer": 0, "Type": row.text("Type")}


def edinet(row: Row, _seed: int) -> Fields:
    """Read columns ``summary``, ``bs``, ``pl``, ``cf`` as the text, and ``industry`` as one of 16 answers."""
    industry = _text(row, "industry")
    if industry not in EDINET_INDUSTRIES:
        raise row.error("industry", f"{industry!r} is not one of {', '.join(EDINET_INDUSTRIES)}")
    parts = [f"{name}: {part}" for name in ("summary", "bs", "pl", "cf") if (part := row.value(name))]
    if not parts:
        raise row.error("summary", "the report is empty: summary, bs, pl and cf are empty")
    return {"text": "\n".join(parts), "answer": EDINET_INDUSTRIES.index(industry)}


def _filled(row: Row, options: Sequence[Any]) -> list[Any]:
    """Return a row's options, or raise an error if one of them is empty."""
    if None in options:
        raise row.error("options", f"option {options.index(None) + 1} is empty")
    return list(options)


def _text(row: Row, column: str) -> str:
    value = row.value(column)
    if not isinstance(value, str) or not value.strip():
        raise row.error(column, f"must be text, is {shorten(value)}" if value else "is empty")
    return value


def _place(row: Row, column: str, letters: Sequence[str]) -> int:
    said = str(row.value(column)).strip()
    if len(said) != 1 or said not in letters:
        raise row.error(column, f"{shorten(said)} is not one of {', '.join(letters)}")
    return letters.index(said)


@dataclass(frozen=True, slots=True)
class Preset:
    """How to read one benchmark.

    Attributes
    ----------
    convert
        Converts a published row to the fields of its item, or to the reason why it is left out.
    hub, config, split
        Name, configuration and split of the paper's data on the hub.
    rows
        Number of published rows, by configuration and split. The configuration is ``""`` if there is only
        one; configurations without an entry are not read.
    printed
        Number of items that the paper reports; None if it reports none.
    classes
        Fixed classes, if the options are the same for every item.
    meta
        Fields kept for stratification.
    distinct
        Whether to leave out rows that repeat both text and options of an earlier row, or that have an option
        twice, as the paper does for its four benchmarks. If False, these rows are kept, and an item's id
        contains the number of its row.
    """

    convert: Convert
    hub: str
    config: str = ""
    split: str = "test"
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    printed: int | None = None
    classes: tuple[str, ...] = ()
    meta: tuple[str, ...] = ()
    distinct: bool = True


PRESETS: Mapping[str, Preset] = {
    "medical-abstracts": Preset(
        medical_abstracts,
        "TimSchopf/medical_abstracts",
        rows={"": {"train": 11_550, "test": 2_888}},
        classes=MEDICAL_ABSTRACTS_CLASSES,
        distinct=False,
    ),
    "mmlu-pro": Preset(
        mmlu_pro,
        "TIGER-Lab/MMLU-Pro",
        rows={"": {"test": 12_032, "validation": 70}},
        printed=9_795,
        meta=("category",),
    ),
    "medqa": Preset(medqa, "GBaker/MedQA-USMLE-4-options", rows={"": {"test": 1_273}}),
    "gpqa": Preset(
        gpqa,
        "Idavidrein/gpqa",
        "gpqa_extended",
        "train",
        rows={"gpqa_extended": {"train": 546}, "gpqa_main": {"train": 448}, "gpqa_diamond": {"train": 198}},
        printed=546,  # 88 validation and 458 test items, see App. G of the paper
        meta=("High-level domain",),
    ),
    "math-mc": Preset(math_mc, "guipenedo/math-mc", rows={"": {}}, printed=11_751, meta=("Type",)),
    "edinet-bench": Preset(
        edinet,
        "SakanaAI/EDINET-Bench",
        "industry_prediction",
        "train",
        rows={"industry_prediction": {"train": 496}},
        printed=496,
        classes=EDINET_INDUSTRIES,
        distinct=False,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetReading:
    """The result of reading a benchmark.

    Attributes
    ----------
    items, truth
        The items, and the sealed answer key (item id → position of the true option in source order).
    rows
        Number of rows that were read.
    left_out
        Number of rows that were left out, by reason.
    whole
        Whether the source was read to its end; false if reading stopped at `limit`.
    published
        Number of rows that the authors published, by split; empty if unknown.
    split
        The split that was read; None for a file.
    printed
        Number of items that the paper reports; None if it reports none, or if the rows are from another split
        than the paper's.
    """

    items: list[Item]
    truth: dict[str, int]
    rows: int
    left_out: Mapping[str, int]
    whole: bool
    published: Mapping[str, int]
    split: str | None
    printed: int | None

    def lines(self) -> list[str]:
        """Return lines that compare the numbers of rows and items with published numbers, if known."""
        reasons = "".join(f", {n:,} {reason}" for reason, n in self.left_out.items())
        told = [f"{self.rows:,} rows read{reasons}; {len(self.items):,} items"]
        if not self.whole:
            return [*told, "numbers not checked: reading stopped at the limit"]
        known = {s: n for s, n in self.published.items() if self.split in (None, s)}
        of = ", ".join(f"{n:,} in {split}" for split, n in known.items())
        same = self.rows in known.values()
        told += (
            [f"published number of rows: {of}; {'the same' if same else 'different'} here"] if known else []
        )
        told += [] if known else ["rows not checked: the published number is unknown"]
        if self.printed is None:
            return [*told, "items not checked: the paper gives no number"]
        gap = len(self.items) - self.printed
        return [
            *told,
            f"number of items in the paper: {self.printed:,}; {'the same' if not gap else f'{gap:+,}'} here",
        ]


def read_preset(
    name: str, file: str | Path | None = None, **options: Any
) -> tuple[list[Item], dict[str, int]]:
    r"""Read the items of a benchmark and, separately, its sealed key (item id → position of the true option).

    Parameters
    ----------
    name
        One of `PRESETS`.
    file
        Local file with the same columns as on the hub; None reads from the hub.
    options
        ``seed`` of the shuffle and of drawn distractors, by default 0; ``limit``, the largest number of
        items to read and fetch; ``config``, ``split`` and ``revision`` of the hub's data set as in
        ``datasets.load_dataset``, by default those of the paper.

    Raises
    ------
    BadInput
        If the preset or configuration does not exist, `limit` is below 1, or `config`, `split` or
        `revision` are given with a file.
    DataError
        If a row does not match the benchmark, naming row and column; or if the hub cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "test.csv")
    ...     _ = file.write_text("condition_label,medical_abstract\n2,Gastric ulcers\n")
    ...     items, key = read_preset("medical-abstracts", file)
    ...
    >>> items[0].options[key[items[0].id]]
    'digestive system diseases'
    """
    read = load_preset(name, file, **options)
    return read.items, read.truth


def load_preset(
    name: str,
    file: str | Path | None = None,
    *,
    seed: int = 0,
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
) -> PresetReading:
    """Read a benchmark as `read_preset` does, and count the rows that were read and left out."""
    if name not in PRESETS:
        raise BadInput(f"there is no preset {name!r}; known are {', '.join(PRESETS)}")
    if limit is not None and limit < 1:
        raise BadInput(f"limit must be 1 or more, is {limit}")
    preset = PRESETS[name]
    _refuse(name, preset, file, {"config": config, "split": split, "revision": revision})
    chosen, part = config or preset.config, split or preset.split
    if file is None:
        rows = read_hub(
            preset.hub, config=chosen or None, split=part, revision=revision, streaming=limit is not None
        )
    else:
        rows = read_rows(file)
    left_out = Counter[str]()
    mapping = ItemMapping(classes=preset.classes, meta=preset.meta, seed=seed)
    kept = list(islice(_converted(rows, preset, name, seed, left_out), limit))
    items = list(iterate_items(kept, mapping, str(file or preset.hub)))
    is_papers = (chosen, part) == (preset.config, preset.split)
    return PresetReading(
        items=items,
        truth={item.id: int(row.fields["answer"]) for item, row in zip(items, kept, strict=True)},
        rows=len(kept) + left_out.total(),
        left_out=dict(left_out),
        whole=limit is None or len(items) < limit,
        published=preset.rows.get(chosen, {}),
        split=part if file is None else None,
        printed=preset.printed if is_papers else None,
    )


def _refuse(name: str, preset: Preset, file: str | Path | None, given: Mapping[str, str | None]) -> None:
    said = [option for option, value in given.items() if value is not None]
    if file is not None and said:
        raise BadInput(
            f"{', '.join(said)}: applies only to data sets of the hub; leave it out when reading {file}"
        )
    if given["config"] is not None and given["config"] not in preset.rows:
        known = ", ".join(filter(None, preset.rows)) or "none to choose"
        raise BadInput(f"the preset {name!r} has no configuration {given['config']!r}; there are: {known}")


def _converted(
    rows: Iterable[Row], preset: Preset, name: str, seed: int, left_out: Counter[str]
) -> Iterator[Row]:
    """Yield rows with the fields of items, and add the number of other rows to `left_out`, by reason."""
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        try:
            fields = preset.convert(row, seed)
        except DataError as error:
            raise row.error(error.field, f"not a row of {name}: {error.reason}") from None
        if isinstance(fields, str):
            left_out[fields] += 1
            continue
        if preset.distinct:
            options = [fold_text(str(option)) for option in fields["options"]]
            content = json.dumps([fields["text"], options])
            if content in seen or len(set(options)) < len(options):
                left_out["repeated" if content in seen else "with an option twice"] += 1
                continue
            seen.add(content)
        else:
            fields["id"] = f"{name}-{number}"
        yield Row(row.file, row.line, fields)
