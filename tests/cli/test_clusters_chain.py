"""Items in clusters through the real commands: the column that study.toml names is respected."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from oversight.harness.cli.main import main
from tests.cli.conftest import N as ITEMS
from tests.cli.conftest import Oversight

PATIENTS, IMAGES = 40, 3
N = PATIENTS * IMAGES


@pytest.fixture
def rated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Oversight) -> str:
    """A study whose three annotators and model err on all images of a patient; the study file's text."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    wrong = np.repeat(rng.random((PATIENTS, 4)) < (0.2, 0.2, 0.2, 0.1), IMAGES, axis=0)
    Path("notes.csv").write_text(
        "id,text,room,patient\n" + "".join(f"n{j},note {j},{j % 3},p{j // IMAGES}\n" for j in range(N))
    )
    Path("experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{p}"\nclasses = ["*"]\n' for p in ("ana", "bo", "cy"))
    )
    text = (
        '[study]\nname = "t"\n[items]\nfile = "notes.csv"\nclasses = ["sick", "well"]\n'
        '[experts]\nprotocol = "panel"\n'
    )
    Path("study.toml").write_text(text)
    oversight("label", "route")
    rows = [
        {"item": f"n{j}", "annotator": who, "label": ("sick", "well")[int(wrong[j, a]) ^ (j // IMAGES % 2)]}
        for j in range(N)
        for a, who in enumerate(("ana", "bo", "cy"))
    ]
    with Path("more.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["item", "annotator", "label"])
        writer.writeheader()
        writer.writerows(rows)
    oversight("label", "import", "more.csv")
    for file, shown in (("model.csv", 3), ("truth.csv", None)):
        said = [int(shown is not None and wrong[j, shown]) ^ (j // IMAGES % 2) for j in range(N)]
        Path(file).write_text(
            "item,label\n" + "".join(f"n{j},{('sick', 'well')[k]}\n" for j, k in enumerate(said))
        )
    return text


def in_patients(text: str) -> None:
    Path("study.toml").write_text(text.replace("[experts]", 'cluster = "patient"\n[experts]'))


def width(interval: dict[str, float]) -> float:
    return interval["high"] - interval["low"]


def test_clusters_named_after_the_ratings_are_the_units_of_every_interval(
    rated: str, oversight: Oversight
) -> None:
    with_model = ("--model", "model.csv")
    by_reference = ("panel", "parity", *with_model, "--reference", "truth.csv", "--positive", "sick")
    alone = oversight("panel", "agree"), oversight("panel", "certify", *with_model), oversight(*by_reference)
    in_patients(rated)
    agree, certify, parity = together = (
        oversight("panel", "agree"),
        oversight("panel", "certify", *with_model),
        oversight(*by_reference),
    )
    assert [found["clusters"] for found in alone] == [None] * 3
    assert [found["clusters"] for found in together] == [PATIENTS] * 3
    for found in together:
        assert "clusters are independent draws" in found["assumptions"]
    assert agree["alpha"]["value"] == alone[0]["alpha"]["value"]
    assert width(agree["alpha"]) > 1.2 * width(alone[0]["alpha"])
    assert certify["L"] == alone[1]["L"]
    assert certify["L_low"] < alone[1]["L_low"]
    assert (certify["hms"], certify["direct"]) == (None, [])
    assert set(certify["undefined"]) == {"hms", "oms", "oms_exact", "direct"}
    overall = parity["overall"]
    assert (overall["items"], overall["clusters"]) == (N, PATIENTS)
    for name in ("human", "model", "delta"):
        assert width(overall[name]) > 1.2 * width(alone[2]["overall"][name])
    assert width(overall["detection"]["model"]["f1"]) > width(alone[2]["overall"]["detection"]["model"]["f1"])
    assert overall["at_least_80"] is None
    assert "at_least_80" in parity["undefined"]
    assert alone[2]["human_level"]["test"] == "exact sign test"
    assert parity["human_level"]["test"] == "t over clusters"


def test_the_terminal_says_what_is_independent_and_what_is_withheld(
    rated: str, capsys: pytest.CaptureFixture[str]
) -> None:
    in_patients(rated)
    capsys.readouterr()
    for verb, withheld in (
        ("agree", ""),
        ("certify", "hms, oms, oms_exact:"),
        ("parity", "at_least_80:"),
    ):
        model = [] if verb == "agree" else ["--model", "model.csv"]
        assert main(["panel", verb, *model]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert f"{N} items in {PATIENTS} clusters, which are the independent units" in text
        assert "assumed: clusters are independent draws" in text
        assert (f"not available for items in clusters: {withheld}" in text) == bool(withheld)


def test_terminal_marks_intervals_from_too_few_clusters(
    rated: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study.toml").write_text(rated.replace("[experts]", 'cluster = "room"\n[experts]'))
    capsys.readouterr()
    assert main(["panel", "parity", "--model", "model.csv"]) == 0
    answer, _, difference, *_ = capsys.readouterr().out.splitlines()
    assert answer.endswith(" (!)")
    assert "points" in difference
    assert " (!)   p = " in difference


def test_flags_of_panels_are_said_in_words(
    rated: str, oversight: Oversight, capsys: pytest.CaptureFixture[str]
) -> None:
    certify = oversight("panel", "certify", "--model", "model.csv")
    assert certify["flags"][0].startswith("fixed_panel: ")
    assert certify["notes"][0].startswith("the annotators are a fixed panel: ")
    parity = oversight("panel", "parity", "--model", "model.csv", "--reference", "truth.csv")
    assert parity["human_level"]["notes"] == ["number of people who rated: 3; at least 5 are advised"]
    for b in (parity["overall"], *parity["bins"]):
        assert len(b["notes"]) == len(b["flags"])
    for words, flags in (
        (["panel", "certify", "--model", "model.csv"], ["fixed_panel"]),
        (
            ["panel", "parity", "--model", "model.csv", "--reference", "truth.csv"],
            ["few_people", "few_items"],
        ),
    ):
        assert main(words) == 0
        text = capsys.readouterr().out
        assert not any(flag in text for flag in flags)


def test_a_column_that_is_missing_is_refused_by_name(rated: str, oversight: Oversight) -> None:
    Path("study.toml").write_text(rated.replace("[experts]", 'cluster = "nowhere"\n[experts]'))
    assert "nowhere" in oversight("panel", "agree", code=2)["error"]
    rows = Path("notes.csv").read_text().splitlines()
    Path("notes.csv").write_text("\n".join([rows[0], *(f"{r.rsplit(',', 1)[0]},p0" for r in rows[1:])]))
    in_patients(rated)
    assert "at least 2, but all items are in 'p0'" in oversight("panel", "agree", code=2)["error"]


def test_clusters_named_after_the_draw_count_everywhere_or_are_refused(
    begin: Callable[..., None], oversight: Oversight
) -> None:
    begin("targeted", {"good": (0.85, ITEMS), "fair": (0.6, ITEMS)})
    alone = oversight("estimate")["models"]["good"]["estimates"]["routed"]
    pair = oversight("compare")["comparisons"][0]
    text = Path("study.toml").read_text()
    Path("study.toml").write_text(text.replace('meta = ["ward"]', 'meta = ["ward"]\ncluster = "ward"'))
    together = oversight("estimate")["models"]["good"]["estimates"]["routed"]
    assert together["high"] - together["low"] > alone["high"] - alone["low"]
    found = oversight("compare")["comparisons"][0]
    assert found["high"] - found["low"] > pair["high"] - pair["low"]
    refused = oversight("estimate", "--set", "estimate.panel=votes.csv", code=2)["error"]
    assert "panel: strata by a panel's certainty need independent items" in refused
    assert "items.cluster" in refused
    Path("study.toml").write_text(text.replace('meta = ["ward"]', 'cluster = "nowhere"'))
    assert "nowhere" in oversight("estimate", code=2)["error"]


def test_clusters_and_reference_of_the_study_apply_to_a_file_of_its_ratings(
    rated: str, oversight: Oversight
) -> None:
    in_patients(rated)
    text = Path("study.toml").read_text()
    Path("study.toml").write_text(text.replace("[experts]", '[experts]\nreference = "truth.csv"'))
    oversight("label", "export", "--ratings", "ratings.csv")
    with_model = ("--model", "model.csv")
    for words in (("agree",), ("certify", *with_model), ("parity", *with_model)):
        stored = oversight("panel", *words)
        assert oversight("panel", words[0], "ratings.csv", *words[1:]) == stored
        assert stored["clusters"] == PATIENTS
    assert stored["human_level"]["test"] == "t over clusters"
    votes = Path("ratings.csv").read_text()
    Path("ratings.csv").write_text(votes.replace("\nn0,", "\nother,"))
    told = oversight("panel", "agree", "ratings.csv", code=2)["error"]
    assert told.startswith("ratings.csv: the item 'other' is not in study.toml, whose items are in clusters")
    Path("ratings.csv").write_text(votes.replace("\nn", "\nother"))
    assert oversight("panel", "agree", "ratings.csv").get("clusters") is None
    Path("ratings.csv").write_text(votes)
    Path("truth.csv").write_text("item,label\nother,sick\n")
    told = oversight("panel", "parity", "ratings.csv", *with_model, code=2)["error"]
    assert "truth.csv: none of its items has a rating in ratings.csv" in told


@pytest.mark.parametrize("verb", [("items", "check"), ("label", "route")])
def test_items_without_a_cluster_are_named_before_anything_is_asked(
    verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"n{j},note {j},{'' if j in (2, 5) else f'p{j // IMAGES}'}\n" for j in range(N)]
    Path("notes.csv").write_text("id,text,patient\n" + "".join(rows))
    Path("experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "notes.csv"\nclasses = ["sick", "well"]\ncluster = "patient"\n'
    )
    assert main([*verb]) == 2
    told = capsys.readouterr().err
    assert "notes.csv:4 [patient]: is empty; every item needs a cluster" in told
    assert "notes.csv:7 [patient]: is empty; every item needs a cluster" in told
    assert not Path("study.db").exists()
