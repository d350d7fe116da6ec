"""Read the command-line options that benchmarks share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any


def read_options(doc: str | None, numbers: Mapping[str, tuple[int, int]] | None = None) -> Any:
    """Read ``--quick`` and the numbers of a benchmark.

    `numbers` maps an option, such as ``--draws``, to its default without and with ``--quick``.
    """
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a part of the benchmark, under 4 minutes")
    for option, (full, quick) in (numbers or {}).items():
        parser.add_argument(option, type=int, help=f"default: {full}, with --quick {quick}")
    args = parser.parse_args()
    for option, defaults in (numbers or {}).items():
        name = option.strip("-")
        if getattr(args, name) is None:
            setattr(args, name, defaults[args.quick])
    return args
