"""How to cite this software: valid by its format's own checker, and of this version."""

from __future__ import annotations

import yaml  # type: ignore[import-untyped]

from oversight.harness import __version__
from tests.install.environments import ROOT, call, keep_environment

CITATION = ROOT / "CITATION.cff"


def test_the_citation_is_of_this_version_and_names_no_person_as_its_author() -> None:
    told = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
    assert str(told["version"]) == __version__
    assert told["authors"] == [{"name": "oversight contributors"}]


def test_the_citation_is_valid() -> None:
    programs = keep_environment("citation", ["cffconvert==2.0.0"])
    done = call(programs / "cffconvert", "--validate", "-i", CITATION)
    assert "valid according to schema version 1.2.0" in done.stdout
