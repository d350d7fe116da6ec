"""Options that a verb no longer has, and what replaces each."""

from __future__ import annotations

_COLUMN = "name the column {0!r} in the file; in Python: ov.{1}(..., {0}=...)"
_SAMPLES = "1,000 resamples are always drawn; in Python: ov.{}(..., bootstrap=...)"
_PANEL_VERBS = ("agree", "certify", "parity")

RETIRED = {
    verb: {
        "--confidence": "use --level",
        "--seed": f"the draws are the same in every call; in Python: ov.{verb}(..., seed=...)",
        **{f"--{column}": _COLUMN.format(column, verb) for column in ("item", "annotator", "label")},
    }
    for verb in _PANEL_VERBS
}
"""Verb, also with its action, and option: what to use in its place."""
RETIRED["agree"]["--bootstrap"] = _SAMPLES.format("agree")
RETIRED["certify"]["--weights"] = 'in Python: ov.certify(..., aggregate="weighted", weights=...)'
RETIRED["parity"]["--bootstrap"] = _SAMPLES.format("parity")
RETIRED["parity"]["--edges"] = "the edges are 0.7 and 0.9; in Python: ov.parity(..., edges=...)"
RETIRED |= {
    "compare": {"--adjust": "intervals always hold jointly; in Python: ov.compare(..., adjustment=...)"},
    "demo": {"--fresh": "delete the folder, or name another one with --folder"},
    "estimate": {"--published": "use --estimators paper"},
    "label watch": {"--webhook": "label watch looks every 15 seconds; set another number with --every"},
    "label-studio": {
        "--hooks": "a server never calls this machine; leave it out",
        "--isolated": "set isolated = true under [label_studio] in study.toml",
    },
    "search start": {
        "--candidates": "set candidates under [search] in study.toml",
        "--parity": "set parity under [search] in study.toml",
        "--policy": "set policy under [search] in study.toml",
    },
}


def find_replacement(verb: str, option: str) -> str:
    """What to use in place of an option that a verb no longer has, or nothing.

    >>> find_replacement("agree", "--confidence")
    'use --level'
    >>> find_replacement("agree", "--level")
    ''
    """
    return RETIRED.get(verb, {}).get(option, "")
