"""Begin a study: propose settings from a file of items, and write study.toml, roster and prompt."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oversight.harness.config import OPENAI, SCHEMA_FILE, STUDY_FILE, SearchSection, read_schema_text
from oversight.harness.datasets import PRESETS, BadRows, Row, read_portions
from oversight.harness.errors import BadInput
from oversight.harness.platform import write_whole
from oversight.harness.registry import DEFAULT_PROTOCOL

_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".csv.gz", ".jsonl.gz")
_TEXT = (
    "text",
    "question",
    "prompt",
    "input",
    "abstract",
    "note",
    "content",
    "body",
    "description",
    "document",
)
_ID = re.compile(r"(.*[_ -])?(?i:id|uid|key|number|nr|no|#)\.?|.*I[dD]")
_LONGEST_ID = 40
"""Maximum length in characters of ids in a first column that is not named like an id."""
_LISTS = ("options", "choices", "answers", "candidates")
_LABEL = re.compile(
    r"((true|gold|correct|right|ground)[ _-]?)?"
    r"(label|class|category|target|gold|truth|answer|correct|diagnosis|solution)"
    r"([ _-]?(idx|index|key|letter))?",
    re.IGNORECASE,
)
"""Names of columns that contain the truth; such columns are never stored with a study."""
_SUBJECTS = ("class", "category")
_LETTERED = re.compile(r"((?:option|choice|opt|answer)?[ _-]?)([A-J]|\d{1,2})", re.IGNORECASE)
_CHARACTERS_A_TOKEN = 2
"""Characters per token, at the low end for most languages, because a limit must not be too low."""
_ROOM, _STEP, _MOST = 1_000, 64, 2_048
"""Tokens for reasoning before the answer; step to which limits are rounded up; maximum limit."""
_MOST_VALUES = 30
"""Maximum number of distinct values of a column that counts as having few."""
_MOST_LOOKED_AT = 100_000
"""Number of rows after which reading stops, because they suffice to see what the columns contain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyProposal:
    """Proposed meaning of a file's columns as items of a study.

    Attributes
    ----------
    rows
        Number of rows that were read.
    columns
        Names of all columns.
    id, text
        Names of the columns with the id and with the text; empty if none fits.
    options
        A column with lists of options, or several columns with one option each; empty without options.
    classes
        Classes that all items share: the given classes or, if none are given and there are no options, the
        values of the label column.
    label
        Column with the truth, which is kept out of the study. Empty if none fits.
    meta
        Columns with few distinct values, kept for estimates by stratum.
    max_tokens
        Token limit, high enough for every answer in the format that the prompt requests.

    Examples
    --------
    >>> proposal = propose("items.csv")
    >>> proposal.columns
    ('id', 'text', 'ward')
    """

    rows: int
    columns: tuple[str, ...]
    id: str
    text: str
    options: str | tuple[str, ...]
    classes: tuple[str, ...]
    label: str
    meta: tuple[str, ...]
    max_tokens: int


def find_item_files(folder: str | Path) -> list[str]:
    """Return the files in a folder that could contain items, in alphabetical order.

    Examples
    --------
    >>> find_item_files(".")[:3]
    ['careful.csv', 'items.csv', 'key.csv']
    """
    path = Path(folder)
    found = path.iterdir() if path.is_dir() else ()
    return sorted(p.name for p in found if p.is_file() and p.name.lower().endswith(_ENDINGS))


def propose(path: str | Path, classes: Sequence[str] = ()) -> StudyProposal:
    """Read a file and propose the meaning of each column.

    Raises
    ------
    DataError
        If the file cannot be read.

    Examples
    --------
    >>> proposal = propose("items.csv")
    >>> proposal.text, proposal.rows
    ('text', 54)
    """
    rows, looks = _look_at_columns(Path(path))
    given = tuple(classes)
    options = "" if given else _find_options(looks, rows)
    own, of_options = bool(options), (options,) if isinstance(options, str) else options
    label = _find_label(looks, given, own=own)
    if not given and not own and label:
        given = tuple(looks[label].values)
    left = {name: look for name, look in looks.items() if name not in (label, *of_options)}
    text = _find_text(left)
    left.pop(text, None)
    named = _find_id(left, rows)
    left.pop(named, None)
    telling = [name for name, look in left.items() if _tells(name, look, own=own)]
    meta = tuple(name for name, look in left.items() if look.is_few and name not in telling)
    label = label or next(iter(telling), "")
    lengths = map(len, given) if given else (looks[name].longest for name in of_options if name in looks)
    return StudyProposal(
        rows=rows,
        columns=tuple(looks),
        id=named,
        text=text,
        options=options,
        classes=given,
        label=label,
        meta=meta,
        max_tokens=limit_tokens(max(lengths, default=0)),
    )


def limit_tokens(longest: int) -> int:
    """Return the token limit for a reply that contains reasoning and an option of `longest` characters."""
    needed = _ROOM + longest // _CHARACTERS_A_TOKEN
    return min(_MOST, -(-needed // _STEP) * _STEP)


def _find_options(looks: Mapping[str, ColumnLook], rows: int) -> str | tuple[str, ...]:
    """Find the options: a column of lists, or, without such a column, columns such as ``A`` and ``B``.

    Among several columns of lists, one with a usual name is preferred.
    """
    lists = [name for name, look in looks.items() if look.lists == rows > 0]
    if lists:
        return next((name for name in lists if name.lower() in _LISTS), lists[0])
    by_start: dict[str, list[str]] = {}
    for name in looks:
        if found := _LETTERED.fullmatch(name):
            by_start.setdefault(found[1].lower(), []).append(name)
    several = [tuple(names) for names in by_start.values() if len(names) > 1]
    return several[0] if several else ""


def _find_label(looks: Mapping[str, ColumnLook], classes: Sequence[str], *, own: bool) -> str:
    for name, look in looks.items():
        if classes and look.values and look.values.keys() <= set(classes):
            return name
    return next((name for name, look in looks.items() if look.is_few and _tells(name, look, own=own)), "")


def _tells(name: str, look: ColumnLook, *, own: bool) -> bool:
    """Whether a column seems to contain the truth, because of its name or because it has option letters.

    `own` says whether every item has its own options. If so, a column named "class" or "category" is taken
    for a subject area, not for the truth.
    """
    if own and name.lower() in _SUBJECTS:
        return False
    return names_truth(name, own=own) or (own and look.is_few and look.values.keys() <= set("ABCDEFGHIJ"))


def names_truth(name: str, *, own: bool) -> bool:
    """Whether columns with this name usually hold the true options.

    `own` says whether every item has its own options.
    """
    return bool(_LABEL.fullmatch(name)) and not (own and name.lower() in _SUBJECTS)


def _find_text(looks: Mapping[str, ColumnLook]) -> str:
    """Find the text column: the one with a usual name, for example ``question``.

    If no column has a usual name, it is the column with the longest texts, if their mean length is at least
    20 characters.
    """
    by_name = {name.lower(): name for name, look in looks.items() if look.filled and not look.lists}
    for known in (*_TEXT, *(f"{name}s" for name in _TEXT)):
        if known in by_name:
            return by_name[known]
    long = {name: look.length / look.filled for name, look in looks.items() if look.filled and not look.lists}
    best = max(long, key=long.__getitem__, default="")
    return best if best and long[best] >= 20 else ""


def _find_id(looks: Mapping[str, ColumnLook], rows: int) -> str:
    """Find the id column: a column of unique values that is named like an id.

    If no such column exists, the table's first column is returned if its values are unique and short. If
    they are not, the result is empty.
    """
    good = [name for name, look in looks.items() if len(look.hashes) == rows == look.filled]
    named = [name for name in good if _ID.fullmatch(name)]
    first = [name for name in good[:1] if name == next(iter(looks)) and looks[name].longest <= _LONGEST_ID]
    return "id" if "id" in good else next(iter(named or first), "")


@dataclass(slots=True)
class ColumnLook:
    """Statistics of a column.

    Attributes
    ----------
    filled
        Number of rows in which the column is not empty.
    lists
        Number of rows in which the column contains a list, possibly as JSON.
    length, longest
        Total number of characters, and number of characters of the longest text or list entry.
    values
        Distinct texts, in the order of the file; incomplete if there are more than `_MOST_VALUES`.
    hashes
        Hashes of the texts, which show whether all are different.
    """

    filled: int = 0
    lists: int = 0
    length: int = 0
    longest: int = 0
    values: dict[str, None] = field(default_factory=dict)
    hashes: set[int] = field(default_factory=set)

    def see(self, value: Any) -> None:
        """Add the value of the next row to these statistics."""
        found = _as_list(value)
        if found is not None:
            self.filled, self.lists = self.filled + 1, self.lists + 1
            self.longest = max([self.longest, *(len(str(entry)) for entry in found)])
            return
        text = "" if value is None else str(value).strip()
        if not text:
            return
        self.filled, self.length = self.filled + 1, self.length + len(text)
        self.longest = max(self.longest, len(text))
        if len(self.values) <= _MOST_VALUES:
            self.values[text] = None
        self.hashes.add(hash(text))

    @property
    def is_few(self) -> bool:
        """Whether the column has few distinct values that occur repeatedly."""
        return (
            2 <= len(self.values) <= _MOST_VALUES and len(self.values) * 3 <= self.filled and not self.lists
        )


def _look_at_columns(path: Path) -> tuple[int, Mapping[str, ColumnLook]]:
    """Return the number of rows, and column name → statistics; unreadable rows are skipped.

    Raises
    ------
    DataError
        If the file cannot be read, or all its rows are unreadable.
    """
    looks: dict[str, ColumnLook] = {}
    rows, bad = 0, BadRows()
    for portion in read_portions(path):
        for row in portion.attempts():
            if isinstance(row, Row):
                rows += 1
                for name, value in row.fields.items():
                    if name not in looks:
                        looks[name] = ColumnLook()
                    looks[name].see(value)
            else:
                bad.add(row)
        if rows >= _MOST_LOOKED_AT:
            break
    if bad.number and not rows:
        raise bad.error(0)
    return rows, looks


def _as_list(value: Any) -> list[Any] | None:
    if isinstance(value, str) and value[:1] == "[":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else None


STUDY = """\
#:schema study.schema.json
# A study: which items, which experts, which models. Paths are relative to this file.

[study]
name = {name}
{seed}# seed of all random draws; keep it secret, and change it only before the first draw
store = "study.db"             # a file, or postgresql://HOST/NAME

[items]
{source}
{id}# column with a unique id (default: a hash of text and options)
{text}# column with the text of the question
{meta}# columns to keep, for estimates by stratum
# cluster = "patient"          # column whose equal values make items depend on each other
# limit = 500                  # read only the first 500 items
# skip_bad = true              # leave out wrong rows, and count them

[experts]
roster = "experts.toml"
{protocol}# how questions are drawn, one of:
#     "partitioned"            # every item to one expert, drawn uniformly over the options
#     "targeted"               # asks about options that models chose (run them first): far fewer questions
#     "sequential"             # asks about predicted options until every item is resolved
#     "disagreement"           # compares two models: asks only where they differ
#     "panel"                  # several annotators choose among all options: see docs/panels.md
# options_per_item = 1         # partitioned: ask about m different options of each item
# annotators_per_item = 3      # panel: of the experts with classes = ["*"]
# question_text = "Is the answer $option?"  # the question, in the experts' language
# models = ["small"]           # models whose answers decide what is asked (default: all that were run)
# gold = "gold.csv"            # items with known answers, asked as control questions: see docs/controls.md
# repeat = 0.05                # share of questions that the same expert is asked again
# overlap = 0.05               # share of questions that a second expert is also asked

# [label_studio]               # for `oversight label push`; see docs/label-studio.md
# instructions = "Read the note. Would you treat this patient?"
# isolated = true              # one server per expert, so that nobody can see another's answers

# [search]                     # for `oversight search`; see docs/search.md
# candidates = {candidates}
# start = "cot"                # the workflow that you would use now, or a file with your prompt

[prompt]
template = "prompt.txt"        # fields: $text $options $names $letters; default: a built-in prompt
# system = "system.txt"        # system prompt
# max_words = 200              # show at most 200 words of a text
# answer = "line"              # the form of answers that the prompt requests; or "schema", "choice", "free"
# pattern = '(?P<answer>\\w+)$' # your own pattern; its group `answer` holds the option

{model}
{max_tokens}# room to think before the last line; a model that reasons at length needs thousands

# [models]
# judge = "large"                  # a model whose probabilities save questions about the others

# [models.large]
# endpoint = "https://api.openai.com/v1"
# model = "gpt-5-mini"
# api_key_env = "OPENAI_API_KEY"   # the key is read from this environment variable, never from here
# concurrency = 8
# structured = "auto"              # answer in a JSON Schema where the endpoint can
# samples = 1                      # answers per item; several are combined by a vote
# python = "module:function"       # instead of an endpoint; or command = ["./program"]

[estimate]
level = 0.95
# strata = "subject"           # estimate by this column, or by "confidence", and weight the strata
# panel = "ratings.csv"        # or by the certainty of a panel's vote on each item
"""

LOCAL_MODEL = """\
[models.small]
endpoint = "local"             # the model of `oversight server start model`
model = "smollm2-135m-instruct"
temperature = 0.0"""

NAMED_MODEL = """\
[models.{name}]
{endpoint}# a base URL, or the name of a section [endpoints.NAME]
{model}# what the endpoint calls it
# api_key_env = "OPENAI_API_KEY"   # the key is read from this environment variable, never from here
# temperature = 0.0"""

FIXED = """\
{file}# .csv, .jsonl (both also .gz), .parquet or .xlsx
classes = {classes}
# Without classes every item brings its own options:
# options = "options"          # a column with a list, or several: ["A", "B", "C", "D"]"""

OWN = """\
{file}# .csv, .jsonl (both also .gz), .parquet or .xlsx
{options}# a column with a list, or several: ["A", "B", "C", "D"]
# classes = ["cardiology", "neurology"]   # instead: the same options for every item"""

PRESET = """\
preset = {preset}              # one of: {known}
{file}"""

ASK_CLASS = """\
$text

Which one of these is it: $names?

Think first if it helps. Then end with a last line that holds only your answer:
ANSWER: one of $names
"""
"""Prompt of a study with fixed classes."""

ASK_LETTER = """\
Answer the following multiple-choice question.

$text

$options

Think first if it helps. Then end with a last line that holds only your answer:
ANSWER: one of the letters $letters
"""
"""Prompt of a study whose items bring their own options."""


_TYPICAL = 100
"""Assumed characters of the longest option if the options are not known yet."""

SEED_BITS = 63
"""Bits of a random seed, as many as databases can store, so that nobody finds the seed by trying."""


def begin_study(
    folder: str | Path,
    *,
    items: str | None = None,
    proposal: StudyProposal | None = None,
    classes: Sequence[str] = (),
    preset: str | None = None,
    seed: int | None = None,
    protocol: str = DEFAULT_PROTOCOL,
    model: str | None = None,
    endpoint: str = OPENAI,
) -> list[Path]:
    """Write those files of a new study that do not exist yet. Returns the paths of the files written.

    Parameters
    ----------
    items
        File with the items, relative to the folder, or a local copy of the preset's file.
    proposal
        Meaning of the columns of the file `items`.
    classes
        Classes that all items share; used only if there is no proposal. If empty, every item has its own
        options.
    preset
        Name of a public benchmark that provides the items.
    seed
        Seed of every draw; by default a random one, which nobody can guess or find by trying.
    protocol
        Name of the protocol by which questions are drawn.
    model, endpoint
        A model and the base URL of its endpoint; by default the small local model.

    Raises
    ------
    BadInput
        If the folder contains a study already, or the proposal lacks the text column or any options.

    Examples
    --------
    >>> written = begin_study("new", preset="mmlu-pro", seed=7)
    >>> [file.name for file in written]
    ['study.toml', 'study.schema.json', 'experts.toml', 'prompt.txt']
    """
    folder = Path(folder)
    target = refuse_study(folder)
    if proposal:
        check_proposal(proposal, items or "")
    given = PRESETS[preset].classes if preset else proposal.classes if proposal else classes
    longest = max(map(len, given), default=_TYPICAL)
    is_panel = protocol.startswith("panel")  # test the name, because importing the protocol is slow
    folder.mkdir(parents=True, exist_ok=True)
    text = STUDY.format(
        name=to_toml(folder.resolve().name),
        seed=_pad(f"seed = {secrets.randbits(SEED_BITS) if seed is None else seed}"),
        source=_source(items, given, preset, proposal),
        id=_set("id", (proposal and proposal.id) or "", "id"),
        text=_set("text", (proposal and proposal.text) or "", "text"),
        meta=_set("meta", (proposal and proposal.meta) or (), ("subject",)),
        max_tokens=_pad(f"max_tokens = {proposal.max_tokens if proposal else limit_tokens(longest)}"),
        candidates=SearchSection().candidates,
        protocol=_pad(f"protocol = {to_toml(protocol)}"),
        model=_describe_model(model, endpoint) if model else LOCAL_MODEL,
    )
    files = {
        target: text,
        folder / SCHEMA_FILE: read_schema_text(),
        folder / "experts.toml": make_roster(_ROSTER, ["*"] * 3 if is_panel else given),
        folder / "prompt.txt": ASK_CLASS if given else ASK_LETTER,
    }
    return write_missing(files)


def write_missing(files: Mapping[Path, str]) -> list[Path]:
    """Write each file (path → content) that does not exist yet. Returns the paths of the files written."""
    fresh = {path: content for path, content in files.items() if not path.exists()}
    for path, content in reversed(fresh.items()):  # study.toml last, because it refuses a second attempt
        write_whole(content, path, mode=0o666)
    return list(fresh)


def refuse_study(folder: str | Path) -> Path:
    """Return the path of a folder's study file, which must not exist yet.

    Raises
    ------
    BadInput
        If it exists.

    Examples
    --------
    >>> refuse_study("empty").name
    'study.toml'
    """
    target = Path(folder) / STUDY_FILE
    if target.exists():
        raise BadInput(f"{target} exists already; edit it, or name another folder")
    return target


def check_proposal(proposal: StudyProposal, items: str) -> None:
    """Refuse an unusable proposal; the message says what to give.

    Raises
    ------
    BadInput
        If there is no row, if the text column is unknown, or if there are neither classes nor options.

    Examples
    --------
    >>> check_proposal(propose("key.csv"), "key.csv")
    Traceback (most recent call last):
        ...
    oversight.harness.errors.BadInput: key.csv: no column is known to hold the text; its columns are: id, ...
    """
    if not proposal.rows:
        raise BadInput(f"{items}: contains no rows")
    known = ", ".join(proposal.columns) or "none"
    if proposal.text not in proposal.columns:
        missing = f"there is no column {proposal.text!r}"
        named = missing if proposal.text else "no column is known to hold the text"
        raise BadInput(f"{items}: {named}; its columns are: {known}; name the text column with --text COLUMN")
    if len(proposal.classes) < 2 and not proposal.options:
        raise BadInput(
            f"{items}: no column holds options (a list, or one option in each of the columns A, B, C, …) or "
            "labels with few different values; give the classes with --classes a,b,c; the columns are: "
            f"{known}"
        )


def _source(
    items: str | None, classes: Sequence[str], preset: str | None, proposal: StudyProposal | None
) -> str:
    if preset:
        file = f"file = {to_toml(items)}" if items else '# file = "local-copy.parquet"   # else the hub'
        return PRESET.format(preset=to_toml(preset), known=", ".join(PRESETS), file=file)
    options = (proposal and proposal.options) or "options"
    return (FIXED if classes else OWN).format(
        file=_pad(f"file = {to_toml(items or 'items.jsonl')}"),
        classes=_value(tuple(classes)),
        options=_pad(f"options = {_value(options)}"),
    )


def _describe_model(model: str, endpoint: str) -> str:
    key = re.sub(r"[^A-Za-z0-9_-]+", "-", model.rpartition("/")[2]).strip("-") or "model"
    return NAMED_MODEL.format(
        name=key, endpoint=_pad(f"endpoint = {to_toml(endpoint)}"), model=_pad(f"model = {to_toml(model)}")
    )


def _set(key: str, value: str | Sequence[str], example: str | Sequence[str]) -> str:
    """Return a line of study.toml that sets a key or, in a comment, shows how to set it."""
    return _pad(f"{key} = {_value(value)}" if value else f"# {key} = {_value(example)}")


def _pad(line: str) -> str:
    """Pad a line with spaces up to the column in which comments begin."""
    return f"{line} ".ljust(31)


_ROSTER = "# The experts and the classes that they judge. capacity = N and absent = true are optional.\n"


def make_roster(head: str, classes: Sequence[str]) -> str:
    """Return a roster with one expert per class or, without classes, with one expert for everything."""
    return head + "".join(
        f"\n[[expert]]\nname = {to_toml(f'expert-{j}')}\nclasses = [{to_toml(name)}]\n"
        for j, name in enumerate(classes or ["*"], start=1)
    )


def _value(value: str | Sequence[str]) -> str:
    return to_toml(value) if isinstance(value, str) else "[" + ", ".join(map(to_toml, value)) + "]"


def to_toml(text: str) -> str:
    """Quote a text as a TOML basic string, which is written as in JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
