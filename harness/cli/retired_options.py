"""Verbs and options that no longer exist, and what replaces each."""

from __future__ import annotations

_COLUMN = "name the column {0!r} in the file; in Python: ov.{1}(..., {0}=...)"
_SAMPLES = "1,000 resamples are always drawn; in Python: ov.{}(..., bootstrap=...)"
_SETTING = "use --set {}=..., or set it in study.toml"
_FILE = "give the file as an argument: oversight {} FILE"
_FOLDER = "give the folder as an argument: oversight {} FOLDER"
_PYTHON = "in Python: ov.{}(..., {}=...)"

RENAMED_VERBS = {
    "agree": "panel agree",
    "certify": "panel certify",
    "completion": "--completion",
    "label links": "label codes",
    "label-studio": "server ACTION label-studio",
    "model": "server ACTION model",
    "parity": "panel parity",
    "upgrade": "store upgrade",
    "verify": "store verify",
}
"""Former verb → words that replace it. The former name still works in this version."""


def rename_verb(words: list[str]) -> tuple[str, list[str]]:
    """Replace the verb at the start of a command if it has been renamed; the old verb has one or two words.

    Returns the old verb, or an empty text if no verb was replaced, and all words of the new command.

    >>> rename_verb(["model", "start", "--port", "8001"])
    ('model', ['server', 'start', 'model', '--port', '8001'])
    """
    former = next((name for name in (words[0], " ".join(words[:2])) if name in RENAMED_VERBS), "")
    if not former:
        return "", words
    present, rest = RENAMED_VERBS[former].split(), words[len(former.split()) :]
    if "ACTION" in present and rest:
        present[present.index("ACTION")] = rest.pop(0)
    return former, [*present, *rest]


def _list_panel_options(action: str) -> dict[str, str]:
    return {
        "--confidence": "use --level",
        "--seed": f"random draws are the same in every call; in Python: ov.{action}(..., seed=...)",
        **{f"--{column}": _COLUMN.format(column, action) for column in ("item", "annotator", "label")},
    }


_CLUSTER = {
    "--ray-address": "use --on auto or --on HOST:PORT",
    "--worker-resources": "use --workers, as in --workers 4,GPU=1",
}
_CAPS = {
    "--tokens": _SETTING.format("search.tokens"),
    "--usd": _SETTING.format("search.usd"),
}
RETIRED: dict[str, dict[str, str]] = {
    "compare": {
        "--adjust": "intervals always hold jointly; in Python: ov.compare(..., adjustment=...)",
        "--costs": "use --by-class, and set costs under [estimate] in study.toml",
        "--level": _SETTING.format("estimate.level"),
        "--metrics": "use --by-class, and set metrics under [estimate] in study.toml",
    },
    "demo": {
        "--folder": _FOLDER.format("demo"),
        "--fresh": "delete the folder, or name another one",
    },
    "estimate": {
        "--published": "use --estimators paper",
        **{
            f"--{name}": _SETTING.format(f"estimate.{name}")
            for name in ("costs", "interval", "level", "metrics", "panel", "strata")
        },
    },
    "experts export": {"--out": _FILE.format("experts export EXPERT")},
    "experts invite": {"--link": "leave it out; every expert gets an account with its own password"},
    "experts replace": {"--with": "give the other expert as an argument: oversight experts replace ANA BEA"},
    "gate": {
        "--level": _SETTING.format("estimate.level"),
        "--once": "use --look 1/1",
    },
    "init": {
        "--folder": _FOLDER.format("init"),
        "--name": "the study gets the folder's name; to change the name, edit study.toml",
    },
    "items": {
        "--key": _FILE.format("items export ITEMS"),
        "--skip-bad": "set skip_bad = true under [items] in study.toml",
    },
    "label audit": {"--out": _FILE.format("label audit")},
    "label export": {"--folder": _FOLDER.format("label export")},
    "label import": {
        "--label-studio": "leave it out; a .json file is always read as an export of Label Studio",
        **{f"--{verdict}": f"use --word WORD={verdict}" for verdict in ("yes", "no", "unsure")},
    },
    "label reassign": {"--to": "give the other expert as an argument: oversight label reassign ANA BEA"},
    "label serve": {"--no-links": "leave it out; under systemd, label serve makes and prints no codes"},
    "label simulate": {"--seed": "the study's seed is used"},
    "label units": {"--out": _FILE.format("label units")},
    "label watch": {
        "--every": "label watch checks for new answers every 15 seconds",
        "--model": "label watch estimates all models",
        "--webhook": "label watch checks for new answers every 15 seconds",
    },
    "panel agree": {
        **_list_panel_options("agree"),
        "--bootstrap": _SAMPLES.format("agree"),
        "--pairs": "use --json, which prints the pairs",
    },
    "panel certify": {
        **_list_panel_options("certify"),
        "--aggregate": _PYTHON.format("certify", "aggregate"),
        "--weights": 'in Python: ov.certify(..., aggregate="weighted", weights=...)',
    },
    "panel parity": {
        **_list_panel_options("parity"),
        "--bootstrap": _SAMPLES.format("parity"),
        "--edges": "the bins always end at 0.7 and 0.9; in Python: ov.parity(..., edges=...)",
    },
    "plan": {
        "--cluster-size": _PYTHON.format("plan", "cluster_size"),
        "--intraclass": _PYTHON.format("plan", "intraclass"),
        "--level": _SETTING.format("estimate.level"),
        "--power": _PYTHON.format("plan", "power"),
        "--protocol": _SETTING.format("experts.protocol"),
        "--sensitivity": _PYTHON.format("plan", "sensitivity"),
        "--specificity": _PYTHON.format("plan", "specificity"),
    },
    "predictions": {
        "--out": _FILE.format("predictions items LOG"),
        "--pattern": "set pattern under [prompt] in study.toml",
    },
    "report": {
        "--model": "the page shows all models",
        "--out": _FILE.format("report"),
    },
    "run": {
        "--patience": "a run stops if its endpoint does not answer for 10 minutes; run it again later",
        "--sandbox": "set tier under [search] in study.toml",
        **_CLUSTER,
    },
    "search resume": _CAPS | _CLUSTER,
    "search start": {
        "--candidates": "set candidates under [search] in study.toml",
        "--parity": "set parity under [search] in study.toml",
        "--policy": "set policy under [search] in study.toml",
        "--seed": "set seed under [study] in study.toml",
        **_CAPS,
        **_CLUSTER,
    },
    "server": {"--isolated": "set isolated = true under [label_studio] in study.toml"},
    "store": {"--to": _FILE.format("store upgrade")},
    "view": {"--no-browser": "use --json, which opens no browser"},
}
"""Verb (with its action) and removed option → what to use instead."""


def find_replacement(verb: str, option: str) -> str:
    """Return what replaces an option that was removed from a verb; empty if it was not removed.

    >>> find_replacement("panel agree", "--confidence")
    'use --level'
    >>> find_replacement("panel agree", "--level")
    ''
    """
    return RETIRED.get(verb, {}).get(option, "")
