"""A search says where experts were seen to err: its accuracies take every answer for right."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from tests.cli.search_study import CLASSES, truth

GOLD = "id,answer\n" + "".join(f"i{j},{CLASSES[truth(j)]}\n" for j in range(44))


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ('gold = "gold.csv"\ngold_share = 0.5\n', "missed the true option in 13 of 13 gold questions"),
        ("specificity = [0.8, 1.0]\n", "experts may err at the rates in study.toml"),
    ],
)
def test_experts_who_err_are_told_of_in_text_json_and_page(
    section: str,
    told: str,
    searched: Path,
    tmp_path: Path,
    oversight: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(searched, tmp_path / "study")
    study, page = folder / "study.toml", folder / "search.html"
    assert "err" not in " ".join(oversight("search", "show", "--study", study)["search"]["power"])
    (folder / "gold.csv").write_text(GOLD)
    study.write_text(f"{study.read_text()}[experts]\n{section}")
    oversight("label", "route", "--study", study)
    oversight("label", "simulate", "--sensitivity", "0", "--key", folder / "key.csv", "--study", study)
    assert told in oversight("search", "show", "--study", study)["search"]["power"][-1]
    assert main(["search", "show", "--study", str(study), "--page", str(page)]) == 0
    assert told in capsys.readouterr().out
    data = re.findall(r'(?s)<script type="application/json" id="data">(.*?)</script>', page.read_text())
    assert told in json.loads(data[0])["parts"]["search"]["search"]["power"][-1]
