"""Program names and refusal reasons written by a model cannot control the terminal or add lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oversight.harness.cli.main import main
from oversight.harness.report import SearchedWinner
from oversight.harness.report.search_findings import winner_lines
from oversight.harness.store import Store
from oversight.harness.types import Candidate, Program
from tests.agents.made_search import SEARCH, make_search, source_of
from tests.agents.search.test_told_writer import SETTINGS, Writer, read_archive
from tests.cli.search_study import lay_out
from tests.fakes.openai_server import Reply, fake_openai

ODD = "x\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\r"
COMMANDS = {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
BREAKS = "async def forward(task):\n    raise ValueError({odd!r})\n"


class OddWriter(Writer):
    """Writes names and reasons that a terminal would obey; its second program breaks with such words."""

    def write(self, told: str, slot: int) -> Reply:
        found = json.loads(super().write(told, slot).text)
        found |= dict.fromkeys(("name", "thought", "modification", "diagnosis", "reflection"), f"{ODD}{slot}")
        return Reply(json.dumps(found | ({"code": BREAKS.format(odd=ODD)} if slot == 1 else {})))


@pytest.mark.parametrize("policy", ["adas", "aflow"])
def test_nothing_that_a_model_wrote_reaches_the_terminal_raw(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer, study = OddWriter(), str(tmp_path / "study.toml")
    with fake_openai(writer) as server:
        writer.server = server
        lay_out(tmp_path, server.url, more=SETTINGS.format(policy=policy, more="", url=server.url))
        capsys.readouterr()
        shown = ""
        for words, code in (
            (["start"], 0),
            (["resume"], 0),
            (["show"], 0),
            (["show", "--json"], 0),
            (["show", "--page", str(tmp_path / "search.html")], 0),
            (["show", ODD], 2),
            (["show", ODD, "--json"], 2),
            (["export", str(tmp_path / "winner.json")], 0),
            (["export", str(tmp_path / f"{ODD}.txt")], 2),
        ):
            assert main(["search", *words, "--study", study]) == code, words
            out, err = capsys.readouterr()
            assert not COMMANDS & set(out + err), words
            shown += out + err
    candidates = [c for c in read_archive(tmp_path).candidates.values() if c.slot >= 0]
    assert any(ODD in c.note or ODD in c.program.name for c in candidates)  # stored unchanged
    assert "x\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m\\u202e\\u000d" in shown  # and visible
    assert "refused: " in shown


def test_a_name_of_several_lines_is_on_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = make_search(tmp_path, 6)
    program = Program("a\nwinner: me [0]: 99 %\n", source_of(9))
    with Store(study.store_url) as store:
        store.searches.add_candidate(SEARCH, Candidate(program, 9, "x", (Program("", source_of(0)).id,), ""))
    assert main(["search", "show", "--study", str(tmp_path / "study.toml")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("winner: ")]) == 1
    assert len([line for line in lines if f"a winner: me [0]: 99 % [{program.id}]" in line]) == 1


def test_terminal_and_page_show_the_same_out_of_range_score() -> None:
    """The transformed score of a candidate is negative where it is refused more often than by guessing."""
    winner = SearchedWinner(
        id="a",
        name="a",
        naive=-0.2,
        reported=-0.01,
        sd=0.1,
        low=-0.2,
        high=1.1,
        confirmed=1.2,
        test=None,
        start_test=None,
        difference="",
    )
    (line,) = winner_lines(winner)
    assert line == (
        "winner: a [a]: 0.0 %, about 95 % 0.0 % – 100.0 %, corrected for being the best of many "
        "(uncorrected 0.0 %; on fresh items alone 100.0 %)"
    )
