"""Wording of the commands: numbers with their nouns, suggested names, words instead of short names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from oversight.harness.cli.main import main
from oversight.harness.cli.verbs.run import describe_run
from oversight.harness.output import counted, did_you_mean
from oversight.harness.types import method_words

STUDY = """\
[study]
name = "t"
[items]
file = "items.csv"
classes = ["red", "green"]
[models.small]
endpoint = "http://127.0.0.1:9/v1"
model = "m"
"""
ROSTER = '[[expert]]\nname = "ana"\nclasses = ["red", "green"]\n'


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("experts.toml").write_text(ROSTER)
    Path("items.csv").write_text("id,text\na,one\n")
    return tmp_path


def test_numbers_of_one_are_followed_by_the_singular(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["label", "route"]) == 0
    assert "1 question to 1 expert (1 new)" in capsys.readouterr().out
    assert main(["label", "export"]) == 0
    assert "1 open question in 1 file in questions" in capsys.readouterr().out
    assert counted(2, "expert") == "2 experts"


def test_columns_of_status_are_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    main(["label", "route"])
    capsys.readouterr()
    assert main(["label", "status"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("┃", " ").split())
    assert "unsure" in shown
    assert "foreign" not in shown


def change(old: str, new: str, name: str = "study.toml") -> None:
    Path(name).write_text(Path(name).read_text().replace(old, new))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("lable route", "'label'"),
        ("label rout", "'route'"),
        ("init --clases a,b", "'--classes'"),
        ("label export --fromat x", "'--format'"),
        ("run --model smal", "'small'"),
    ],
)
def test_the_probable_name_is_suggested(words: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(words.split())
    except SystemExit as stop:
        code = int(str(stop.code))
    assert code == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "old", "new", "meant"),
    [
        ("study.toml", "classes =", "clases =", "'classes'"),
        ("study.toml", "endpoint =", "endpoimt =", "'endpoint'"),
        ("study.toml", "[models.small]", "[model.small]", "'models'"),
        ("experts.toml", '"green"', '"geen"', "'green'"),
    ],
)
def test_settings_and_classes_are_guessed(
    file: str, old: str, new: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(old, new, file)
    assert main(["label", "route"]) == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_no_name_is_suggested_if_none_is_similar() -> None:
    assert did_you_mean("zebra", ["route", "export"]) == ""


def test_the_width_that_was_given_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--options", "4", "--width", "3"]) == 2
    told = capsys.readouterr().err
    assert "--width must be between 0 and 1, is 3" in told
    assert "half_width" not in told


def test_methods_have_names_in_words() -> None:
    assert method_words("exact") == "exact"
    assert method_words("exact+share+mover") == "exact, readable share, strata combined"
    assert method_words("clopper_pearson+worst-case") == "Clopper–Pearson, worst case"


def test_kinds_of_unreadable_answers_are_told_in_words() -> None:
    result = dict.fromkeys(
        (
            "predictions",
            "asked_now",
            "ok",
            "unreadable",
            "truncated",
            "failed",
            "input_tokens",
            "output_tokens",
        ),
        4,
    )
    more = {
        "usd": None,
        "guessed": 0,
        "unfinished": 0,
        "late": 0,
        "reasons": {},
        "read_by": {},
        "over_limit": 0,
        "kinds": {"unreadable: none": 4, "failed: ": 1},
    }
    told = describe_run("m", {**result, **more, "failed": 0})
    assert "4 × unreadable: names none of the options" in told
    assert "1 × failed: no reason given" in told
    assert "none\n" not in told


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_verbs_sub_verbs_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert main(["--completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("label", "route", "skip-bad", "until-width", "export"):
        assert word in script


def test_bash_completes_a_sub_verb(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert main(["--completion", "bash"]) == 0
    script = capsys.readouterr().out
    for words, wanted in (("label exp", "export"), ("label export --fo", "--format"), ("lab", "label")):
        line = ["oversight", *words.split()]
        asked = f"COMP_WORDS=({' '.join(line)}); COMP_CWORD={len(line) - 1}; COMP_LINE='{' '.join(line)}'"
        called = "$(complete -p oversight | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
        shown = "printf '%s\\n' \"${COMPREPLY[@]}\""
        command = f"{script}\n{asked}; {called} oversight {line[-1]} {line[-2]}\n{shown}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert wanted in done.stdout.split(), done
