"""Every module has one name: below `oversight`, in a clone as in an installed wheel."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import oversight as ov
from tests.house.faces import WINGS
from tests.house.measure import ROOT, find_sources

MOST_NAMES = 60


def test_no_module_is_loaded_under_two_names() -> None:
    code = f"""
import importlib, sys
for name in {sorted(find_sources())!r}:
    if ".migrations." not in name and ".jail" not in name and not name.endswith(("__main__", ".prelude")):
        importlib.import_module(name)
files = [getattr(m, "__file__", None) for m in sys.modules.values()]
files = [str(__import__("pathlib").Path(f).resolve()) for f in files if f]
own = [f for f in files if f.startswith({str(ROOT)!r}) and "/.venv/" not in f]
print(len(own) > 300, sorted({{f for f in own if own.count(f) > 1}}))
print([name for name in sys.modules if name.partition(".")[0] in {WINGS!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n[]\n"


@pytest.mark.parametrize("wing", WINGS)
def test_the_former_name_says_what_to_write(wing: str) -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {wing}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: use: import oversight as ov")
    assert f"oversight.{wing}" in last


def test_a_user_finds_few_names_each_documented() -> None:
    names = importlib.import_module("oversight").__all__
    assert len(names) <= MOST_NAMES
    for name in names:
        assert name in {"FAILED", "UNREADABLE", "__version__"} or getattr(ov, name).__doc__, name


def test_links_lead_to_the_folders_at_the_top() -> None:
    assert {
        path.name: path.resolve() for path in Path(ROOT / "oversight").iterdir() if path.is_symlink()
    } == {wing: ROOT / wing for wing in WINGS}
