"""Run the notebooks of docs/notebooks, each in a separate kernel.

python -m tests.notebooks

writes the outputs into the notebooks; `tests/test_notebooks.py` compares later outputs with them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read_notebook(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def run_notebook(path: Path) -> Any:
    """The notebook with what it gives now, without progress bars and what changes from run to run."""
    found = read_notebook(path)
    where = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    for tries_left in (2, 1, 0):
        client = NotebookClient(found, timeout=120, resources={"metadata": {"path": str(FOLDER)}})
        try:
            client.execute(env={**os.environ, "PYTHONPATH": where})
            break
        except RuntimeError as error:  # another process took the port before the kernel used it
            if "Kernel died before replying" not in str(error) or not tries_left:
                raise
    for cell in found.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
            for out in cell.outputs:
                # pictures differ between versions of matplotlib, so they are not compared
                out.get("data", {}).pop("image/png", None)
                if "text/html" in out.get("data", {}):  # a notebook shows the HTML; the plain text repeats it
                    del out["data"]["text/plain"]
    found.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return found


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(run_notebook(path), path)  # type: ignore[no-untyped-call]
