"""The bundled study of open answers, laid out as a user would."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data"
KEY = str(DATA / "open_answers.key.csv")
MODELS = ("amber", "birch", "cedar")
STUDY = """\
[study]
name = "Open answers"
seed = 7

[items]
file = "items.jsonl"
answers = "open"
{more}
"""


def lay_out(
    folder: Path, oversight: Callable[..., Any], more: str = "", models: tuple[str, ...] = MODELS
) -> None:
    """Write the study's files into the folder, which is the current one, and import the models' answers."""
    shutil.copyfile(DATA / "open_answers.jsonl", folder / "items.jsonl")
    shutil.copyfile(DATA / "open_answers.experts.toml", folder / "experts.toml")
    (folder / "study.toml").write_text(STUDY.format(more=more))
    for model in models:
        oversight("predictions", "import", str(DATA / f"open_answers.{model}.csv"), "--model", model)
