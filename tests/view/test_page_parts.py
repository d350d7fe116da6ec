"""The modules of the page's script joined into one: none is missing, and no name is declared twice."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from oversight.harness.view import page_parts
from oversight.harness.web import read_script

FOLDER = Path(page_parts.__file__).parent / "page" / "script"
MODULES = sorted(FOLDER.rglob("*.js"))
_DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
_DECLARED_PARTS = re.compile(r"^(?:export )?(?:const|let) [{\[]([^}\]]*)[}\]]", re.MULTILINE)
_IMPORTED = re.compile(r"^import \{([^}]*)\} from \"([^\"]+)\";$", re.MULTILINE)


def declared(text: str) -> list[str]:
    parts = [
        part.split(":")[-1].strip() for found in _DECLARED_PARTS.findall(text) for part in found.split(",")
    ]
    return [*_DECLARED.findall(text), *filter(None, parts)]


def test_no_two_modules_declare_the_same_name() -> None:
    names = Counter(name for path in MODULES for name in declared(path.read_text()))
    assert [name for name, number in names.items() if number > 1] == []
    assert len({path.stem for path in MODULES}) == len(MODULES)  # joined modules are named after their files


def test_every_module_is_in_the_script_and_nothing_that_joins_them() -> None:
    script = read_script(page_parts.FOLDER)
    places = {path.stem: script.find(path.read_text().splitlines()[0]) for path in MODULES}
    assert [name for name, place in places.items() if place < 0] == []
    assert re.search(r"^(import|export)\b", script, re.MULTILINE) is None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_what_is_there_and_what_it_uses(path: Path) -> None:
    text = path.read_text()
    body = _IMPORTED.sub("", text)
    assert len(re.findall(r"^import ", text, re.MULTILINE)) == len(_IMPORTED.findall(text))
    for names, needed in _IMPORTED.findall(text):
        offered = (path.parent / needed).resolve().read_text()
        for name in (each.strip() for each in names.split(",")):
            assert re.search(
                rf"^export (?:async )?(?:function|const|let|class) {name}\b", offered, re.MULTILINE
            ), name
            assert re.search(rf"\b{name}\b", body), name
