"""The benchmarks of "Towards Scalable Oversight via Partitioned Human Supervision", and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oversight.harness.datasets.presets.published_rows import (
    EDINET_INDUSTRIES,
    MEDICAL_ABSTRACTS_CLASSES,
    Convert,
    edinet,
    gpqa,
    math_mc,
    medical_abstracts,
    medqa,
    mmlu_pro,
)


@dataclass(frozen=True, slots=True)
class Preset:
    """How one benchmark is read.

    Attributes
    ----------
    convert
        A published row → the fields of its item, or why it is left out.
    hub, config, split
        Where the hub keeps what the paper uses.
    rows
        Rows that the authors publish, by configuration (empty where there is but one) and split; no other
        configuration is read.
    printed
        Items that the paper prints; None where it prints no number.
    classes
        Fixed classes, where the options are the same for every item.
    meta
        Fields kept for strata.
    distinct
        Whether rows that repeat an earlier text and options, or that have an option twice, are
        left out, as the paper does for its four benchmarks. Otherwise the id is the row's number.
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
        printed=546,  # 88 to validate and 458 to test, App. G
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
