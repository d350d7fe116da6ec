"""The public data files that the pages use, and a check whether a folder contains them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

FILES = {
    "mmlu_pro_questions.parquet": "d40df90681ecda01",
    "mmlu_pro_model_predictions.parquet": "740573690759f887",
    "chexpert_test_experts_and_ai.csv.gz": "cea1d2cf5c459d61",
}
"""File name → first 16 hexadecimal digits of its SHA-256."""


@cache
def why_unusable(path: Path) -> str:
    """Return why a data file cannot be used (missing, or another version); empty if it can."""
    if not path.is_file():
        return f"{path} is not there (--data, or OVERSIGHT_DATASETS)"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if not digest.startswith(FILES[path.name]):
        return f"{path} has sha256 {digest[:16]}…, meant is {FILES[path.name]}…"
    return ""
