"""docs/studies/mmlu-pro.md shows what its command printed, and the command still prints it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks._study_folders import read_published
from benchmarks._study_page import NUMBERS, PAGE, PICTURE, fill_page, tables
from benchmarks.mmlu_pro_study import main, one_study
from tests.test_studies import differences


def test_the_page_has_the_numbers_of_the_run() -> None:
    found = json.loads(NUMBERS.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    assert fill_page(page, found) == page
    assert page.count("<!-- table: ") == len(tables(found))
    assert PICTURE.stat().st_size > 10_000


@pytest.mark.slow
def test_the_study_gives_the_same_numbers_again(datasets: Path, tmp_path: Path) -> None:
    wanted = json.loads(NUMBERS.read_text(encoding="utf-8"))["study"]
    found = json.loads(json.dumps(one_study(tmp_path / "study", read_published(datasets))))
    assert list(differences(found, wanted)) == []


@pytest.mark.parametrize("wrong", ["", "questions", "model_predictions"])
def test_data_that_cannot_be_read_are_refused_in_a_line(
    wrong: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("questions", "model_predictions") if wrong else ():
        file = f"mmlu_pro_{name}.parquet"
        whole = (request.getfixturevalue("datasets") / file).read_bytes()
        (tmp_path / file).write_bytes(whole[: len(whole) // 2] if name == wrong else whole)
    with pytest.raises(SystemExit) as stopped:
        main(["--quick", "--data", str(tmp_path)])
    assert stopped.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"mmlu_pro_{wrong or 'questions'}.parquet" in said
    assert ("not a whole Parquet file" if wrong else "is not there") in said
