"""The pages of the source papers say what the command prints, and equal means equal."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from benchmarks.papers.__main__ import SOURCES, main, overview_row
from benchmarks.papers.numbers import (
    EQUAL,
    NEAR,
    OFF,
    Findings,
    Missing,
    Number,
    Section,
    Settings,
    Source,
    total,
)
from benchmarks.papers.pages import block, replace_block, summarise
from benchmarks.papers.public_data import FILES, why_unusable

XRAYS = "chexpert_test_experts_and_ai.csv.gz"
PAGES = Path(__file__).parents[1] / "docs" / "papers"
EXACT = [(s, x) for s in SOURCES.values() for x in s.sections if x.exact]
LONG = [(s, x) for s in SOURCES.values() for x in s.sections if not x.exact]
NOWHERE = Settings(quick=False, data=Path("/nowhere"))


def named(value: object) -> str | None:
    return getattr(value, "key", getattr(value, "name", None))


@pytest.mark.parametrize(("source", "section"), EXACT, ids=named)
def test_a_page_shows_what_the_paper_and_formulas_give(source: Source, section: Section) -> None:
    page = (PAGES / source.page).read_text(encoding="utf-8")
    assert block(page, section.name) == summarise(section.run(NOWHERE))


@cache
def recompute(section: Section, settings: Settings) -> Findings:
    return section.run(settings)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "section"), LONG, ids=named)
def test_a_page_shows_what_draws_and_data_give(source: Source, section: Section, datasets: Path) -> None:
    page = (PAGES / source.page).read_text(encoding="utf-8")
    settings = Settings(quick=False, data=datasets)
    assert block(page, section.name) == summarise(recompute(section, settings))


@pytest.mark.slow
def test_the_overview_counts_what_the_pages_show(datasets: Path) -> None:
    page = (PAGES / "README.md").read_text(encoding="utf-8")
    settings = Settings(quick=False, data=datasets)
    every = {key: {s.name: recompute(s, settings) for s in x.sections} for key, x in SOURCES.items()}
    rows = block(page, "overview").splitlines()[2:]
    assert rows == [overview_row(SOURCES[key], every[key]) for key in sorted(SOURCES)]


def test_a_page_has_a_block_for_every_section_and_no_other() -> None:
    for source in SOURCES.values():
        page = (PAGES / source.page).read_text(encoding="utf-8")
        named = [line.split()[2] for line in page.splitlines() if line.startswith("<!-- papers:")]
        assert named == [section.name for section in source.sections]


@pytest.mark.parametrize(
    ("printed", "value", "error", "status"),
    [
        ("4.39", 4.394, None, EQUAL),
        ("4.39", 4.3851, None, EQUAL),
        ("4.39", 4.375, None, OFF),
        ("84.2", 84.25, None, EQUAL),  # a tie rounds either way
        ("300", 300.4, None, EQUAL),
        ("300", 301, None, OFF),
        ("1.6e-5", 1.64e-5, None, EQUAL),
        ("1.6e-5", 1.66e-5, None, OFF),
        ("< 0", -0.7, None, EQUAL),
        ("< 0", 0.0, None, OFF),
        ("0.55", 0.53, 0.01, NEAR),
        ("0.55", 0.53, 0.005, OFF),
    ],
)
def test_number_is_compared_at_its_printed_digits(
    printed: str, value: float, error: float | None, status: str
) -> None:
    assert Number(printed=printed, value=value, error=error).status == status


def test_counts_add_up_also_where_data_are_absent() -> None:
    for source in SOURCES.values():
        for section in source.sections:
            if section.exact or section.needs:
                c = section.run(NOWHERE).count()
                assert c["printed"] == c["recomputed"] + c["not_available"]
                assert c["recomputed"] == c["equal"] + c["within_2_se"] + c["off"]
    lost = Section(
        name="lost",
        title="",
        make=lambda _: Findings(),
        needs=("mmlu_pro_questions.parquet",),
        absent=(Missing(place="", count=3, why=""),),
    )
    assert total([lost.run(NOWHERE)])["not_available"] == 3


def test_a_block_is_replaced_alone_and_a_missing_one_is_named() -> None:
    page = "a\n<!-- papers: x -->\nold\n<!-- end -->\nb\n<!-- papers: y -->\n<!-- end -->\n"
    new = replace_block(page, "x", "one\\1")
    assert (block(new, "x"), block(new, "y")) == ("one\\1", "")
    assert replace_block(new, "x", "one\\1") == new
    with pytest.raises(ValueError, match="must have one block 'z', has 0"):
        block(page, "z")


def test_the_command_ends_with_its_counts_and_names_absent_data(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main(["004", "--quick", "--data", str(tmp_path)])
    out, err = capsys.readouterr()
    assert err == f"without {XRAYS}, not in {tmp_path}\n"
    counts = json.loads(out.splitlines()[-1])
    assert counts["printed"] == counts["recomputed"] + counts["not_available"]
    assert f"not available: {tmp_path / XRAYS} is not there" in out


def test_another_file_of_the_same_name_is_not_used(tmp_path: Path) -> None:
    (tmp_path / XRAYS).write_bytes(b"something else")
    assert why_unusable(tmp_path / XRAYS).endswith(f"meant is {FILES[XRAYS]}…")
    section = next(s for s in SOURCES["004"].sections if XRAYS in s.needs)
    assert not section.run(Settings(quick=True, data=tmp_path)).rows


@pytest.mark.parametrize("by", ["option", "variable"])
@pytest.mark.parametrize("name", ["nowhere", "a_file", "other"])
def test_data_that_cannot_be_meant_are_refused_in_a_line(
    name: str,
    by: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a_file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / XRAYS).write_bytes(b"something else")
    given = str(tmp_path / name)
    if by == "variable":
        monkeypatch.setenv("OVERSIGHT_DATASETS", given)
    with pytest.raises(SystemExit) as stopped:
        main(["004", "--quick", *(["--data", given] if by == "option" else [])])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    said = err.splitlines()[-1]
    assert (out, said.startswith("python -m benchmarks.papers: error: ")) == ("", True)
    told = f"{Path(given) / XRAYS} has sha256" if name == "other" else f"{given} is no folder"
    assert told in said


def test_the_index_names_every_data_file_and_its_hash() -> None:
    text = (PAGES / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text and f"| `{digest}` |" in text for name, digest in FILES.items())
    assert {name for s in SOURCES.values() for x in s.sections for name in x.needs} == FILES.keys()


@pytest.mark.parametrize(
    ("words", "message"), [(["--quick"], "leave --quick out"), (["--data", "."], "is not there")]
)
def test_pages_are_not_rewritten_from_less(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["all", "--write", *words])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
