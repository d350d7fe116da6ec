"""A study to start from: a commented study.toml and a roster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.config import STUDY_FILE
from harness.datasets import PRESETS
from harness.errors import BadInput

_STUDY = """\
# A study: which items, which experts, which models. Paths are relative to this file.

[study]
name = {name}
seed = 7                       # of every random draw; change it before the first routing only
store = "study.db"             # SQLite file, or any SQLAlchemy URL

[items]
{source}
# id = "id"                    # column with a unique id (a hash of text and options if there is none)
# text = "text"                # column with what is asked
# meta = ["subject"]           # columns to keep, for estimates by stratum
# cluster = "patient"          # column whose equal values make items depend on each other
# limit = 500                  # read only the first so many

[experts]
roster = "experts.toml"
protocol = "partitioned"       # every item to one expert, drawn uniformly over the options
#     "targeted"               # asks where the models (run first) predict: far fewer questions
#     "sequential"             # asks about predicted options until every item is resolved
#     "disagreement"           # compares two models: asks only where they differ
#     "panel"                  # several annotators choose among all options: see docs/panels.md
# options_per_item = 1         # partitioned: ask about m different options of each item
# annotators_per_item = 3      # panel: of the experts with classes = ["*"]
# models = ["small"]           # the others: whose predictions to look at (default: all that were run)

# [label_studio]               # for `oversight label push`; see docs/label-studio.md
# instructions = "Read the note. Would you treat this patient?"
# isolated = true              # one server per expert, so that nobody can see another's answers

# [search]                     # for `oversight search`; see docs/search.md
# candidates = 16
# start = "cot"                # the workflow that you would use now

[prompt]
# template = "prompt.txt"      # fields: $text $options $names $letters; built-in one if left out
# system = "system.txt"        # system prompt
# max_words = 200              # show at most so many words of a text

[models.small]
endpoint = "local"             # the model of `oversight model start`
model = "smollm2-135m-instruct"
temperature = 0.0
max_tokens = 12

# [models.large]
# endpoint = "https://api.openai.com/v1"
# model = "gpt-5-mini"
# api_key_env = "OPENAI_API_KEY"   # the key is read from this environment variable, never from here
# concurrency = 8
# structured = "auto"              # answer in a JSON Schema where the endpoint can
# samples = 1                      # several answers per item are put to a vote
#     python = "module:function"   # or command = ["./program"], in place of an endpoint

[estimate]
level = 0.95
# strata = "subject"           # estimate by this column, or by "confidence", and weight the strata
# panel = "ratings.csv"        # instead: by how certain a panel's vote on each item is
"""

_FIXED = """\
file = {file}                  # .csv, .jsonl (both also .gz) or .parquet
classes = {classes}
# Without classes every item brings its own options:
# options = "options"          # a column with a list, or several: ["A", "B", "C", "D"]"""

_OWN = """\
file = {file}                  # .csv, .jsonl (both also .gz) or .parquet
options = "options"            # a column with a list, or several: ["A", "B", "C", "D"]
# classes = ["cardiology", "neurology"]   # instead: the same options for every item"""

_PRESET = """\
preset = {preset}              # one of: {known}
{file}"""


def begin_study(
    folder: str | Path,
    *,
    name: str | None = None,
    items: str | None = None,
    classes: Sequence[str] = (),
    preset: str | None = None,
) -> list[Path]:
    """Write the files that are not there yet, never over one; which they are.

    Parameters
    ----------
    name
        Name of the study; the folder's by default.
    items
        File with the items, or a local copy of the preset's.
    classes
        Fixed classes; without any, every item brings its own options.
    preset
        A public benchmark instead.

    Raises
    ------
    BadInput
        If the folder holds a study already.
    """
    folder = Path(folder)
    target, roster = folder / STUDY_FILE, folder / "experts.toml"
    if target.exists():
        raise BadInput(f"{target} is there already; edit it, or give another --folder")
    classes = PRESETS[preset].classes if preset else classes
    folder.mkdir(parents=True, exist_ok=True)
    source = _source(items, classes, preset)
    files = {target: _STUDY.format(name=_toml(name or folder.resolve().name), source=source)}
    if not roster.exists():
        files[roster] = _roster(classes)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return list(files)


def _source(items: str | None, classes: Sequence[str], preset: str | None) -> str:
    if preset:
        file = f"file = {_toml(items)}" if items else '# file = "local-copy.parquet"   # else the hub'
        return _PRESET.format(preset=_toml(preset), known=", ".join(PRESETS), file=file)
    template = _FIXED if classes else _OWN
    shown = "[" + ", ".join(_toml(c) for c in classes) + "]"
    return template.format(file=_toml(items or "items.jsonl"), classes=shown)


def _roster(classes: Sequence[str]) -> str:
    head = "# Who answers for which class. capacity = N and absent = true are optional.\n"
    entries = [(f"expert-{j}", c) for j, c in enumerate(classes, start=1)] or [("expert-1", "*")]
    return head + "".join(
        f"\n[[expert]]\nname = {_toml(name)}\nclasses = [{_toml(c)}]\n" for name, c in entries
    )


def _toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
