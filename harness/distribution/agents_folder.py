"""Whether the installed folder ``agents`` is this project's."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from oversight.harness.distribution.extras import DISTRIBUTION
from oversight.harness.errors import ConfigError


def refuse_mixed_folder() -> None:
    """Make sure that the folder ``agents`` is this project's, and nobody else's files are in it.

    Another distribution (openai-agents) installs a folder of that name. Where both were installed, one has
    written over files of the other, whichever came last, and neither works as it should.

    Raises
    ------
    ConfigError
        If it is not this project's alone.
    """
    home = Path(__file__).parents[2]
    found = find_spec("agents")
    places = [] if found is None else [Path(p).resolve() for p in found.submodule_search_locations or ()]
    if places != [(home / "agents").resolve()] or _strangers(home):
        raise ConfigError(
            "another package in this environment installs a folder 'agents', too (openai-agents does), and "
            f"only one can be there: install {DISTRIBUTION} into an environment of its own"
        )


def _strangers(home: Path) -> bool:
    """Whether the installed folder ``agents`` holds other files than the list of what was installed says."""
    records = list(home.glob(f"{DISTRIBUTION.replace('-', '_')}-*.dist-info/RECORD"))
    lines = [line for record in records for line in record.read_text(encoding="utf-8").splitlines()]
    installed = {line.split("/", 2)[1].split(",")[0] for line in lines if line.startswith("agents/")}
    there = {path.name for path in (home / "agents").iterdir()} - {"__pycache__"}
    return bool(installed) and there != installed - {"__pycache__"}
