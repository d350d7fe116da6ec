"""`dir` lists a wing's public names before their first use, so every shell completes them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import oversight as ov
from tests.house.faces import WINGS

VERBS = ("compare", "agree", "certify", "parity", "plan", "study_report", "to_frame", "run", "__version__")


@pytest.mark.parametrize(
    "name",
    [
        "oversight",
        *(f"oversight.{wing}" for wing in WINGS),
        "oversight.harness.plot",
        "oversight.harness.estimate",
    ],
)
def test_a_fresh_interpreter_shows_and_completes_every_name(name: str) -> None:
    code = f"""
import importlib, rlcompleter, sys
face = importlib.import_module({name!r})
hidden = set(face.__all__) - set(dir(face))
completer = rlcompleter.Completer({{"face": face}})
shown = set()
while (found := completer.complete("face.", len(shown))) is not None:
    shown.add(found.removeprefix("face.").rstrip("()"))
print(sorted(hidden), sorted({{name for name in face.__all__ if not name.startswith("_")}} - shown))
"""
    assert run_fresh(code) == "[] []\n"


def test_the_calls_of_the_command_line_are_there_and_documented() -> None:
    assert set(VERBS) <= set(dir(ov))
    for name in VERBS[:-1]:
        assert "Parameters" in (getattr(ov, name).__doc__ or ""), name
    assert ov.__version__.count(".") >= 2


def test_importing_the_face_costs_no_heavy_library() -> None:
    code = (
        "import sys, oversight; dir(oversight); "
        "print(sorted({'numpy', 'pandas', 'scipy', 'sqlalchemy', 'rich'} & set(sys.modules)))"
    )
    assert run_fresh(code) == "[]\n"


def run_fresh(code: str) -> str:
    """Run code in a new interpreter and return its standard output; fail on an error or a warning."""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
