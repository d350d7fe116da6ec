"""Commands that call no model and no server open no connection and look up no name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COMMANDS = """\
import json, sys
opened = []
sys.addaudithook(lambda event, _: opened.append(event) if event.startswith("socket.") else None)
from oversight.harness.cli.main import main
for words in json.loads(sys.argv[1]):
    assert main(words) == 0, words
reached = {"socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"} & {*opened}
assert not reached, reached
"""


def test_a_study_from_begin_to_end_opens_no_connection(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"i{j},case {j}\n" for j in range(8)))
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n'
    )
    (tmp_path / "experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["a", "b"]\n')
    rows = "".join(f"i{j},{'ab'[j % 2]}\n" for j in range(8))
    (tmp_path / "key.csv").write_text(f"id,label\n{rows}")
    (tmp_path / "m.csv").write_text(f"id,prediction\n{rows}")
    commands = [
        ["items", "check"], ["label", "route"], ["label", "export"],
        ["label", "simulate", "--key", "key.csv"], ["predictions", "import", "m.csv", "--model", "m"],
        ["label", "status"], ["estimate"], ["store", "verify"], ["label", "audit"], ["report"],
        ["experts", "export", "ana"], ["items", "remove", "i1", "--reason", "gone", "--erase"],
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
