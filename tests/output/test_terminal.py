from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from oversight.harness.cli.main import main
from oversight.harness.output import guarded_terminal, redact, reveal, say, show

ODD = "evil\x1b]0;title\x07\x9b2J\u202ename\r"
SHOWN = r"evil\u001b]0;title\u0007\u009b2J\u202ename\u000d"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_tables_show_what_a_terminal_would_obey(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    table = Table("name", "value", title=ODD)
    table.add_row(ODD, "1")
    with guarded_terminal():
        show(Group(table, Text(ODD, style="red")))
    printed = screen.getvalue()
    assert printed.count(SHOWN) == 2
    # rich removes the other control characters
    assert r"evil\u001b]0;title\u009b2J\u202ename" in printed.splitlines()[-1]
    assert "\x1b[31m" in printed  # the style's own colours are kept
    assert not set("\x07\x9b\u202e\r") & set(printed)
    assert "\x1b]" not in printed


def test_output_of_libraries_is_shown_and_bars_may_return_to_the_line_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with guarded_terminal(), guarded_terminal():
        sys.stderr.write(f"\r 50% {ODD}| 3/6\r")
        sys.stdout.writelines([f"{ODD}\n"])
    say(ODD)
    out, err = capsys.readouterr()
    assert out == SHOWN + "\n"
    assert err == f"\r 50% {SHOWN}| 3/6\r{SHOWN}\n"


def test_arguments_and_verbs_are_echoed_in_visible_form(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["estimate", f"--{ODD}"])
    assert main(["estimate", "--study", ODD]) == 2
    err = capsys.readouterr().err
    assert err.count(SHOWN) == 2
    assert not set("\x1b\x07\x9b\u202e\r") & set(err)


def test_a_revealed_link_is_whole_in_results_and_masked_in_errors(capsys: pytest.CaptureFixture[str]) -> None:
    link = "http://[::1]:8080/user/signup/?token=0f1e2d3c4b5a6978-invite"
    with guarded_terminal():
        sys.stdout.write(f"ana: {link}\n")
        reveal(link)
        sys.stdout.write(f"ana: {link}, bea: {link}x\n")
        sys.stdout.write(f'{{"link": "{link}", "other": "http://h/?token=ABC"}}\n')
        sys.stderr.write(link)
    say(link)
    out, err = capsys.readouterr()
    first, second, third = out.splitlines()
    assert first == "ana: http://[::1]:8080/user/signup/?token=***"
    assert second == f"ana: {link}, bea: {link}x"
    assert third == f'{{"link": "{link}", "other": "http://h/?token=***"}}'
    assert "0f1e2d3c4b5a6978" not in err + redact(link)
