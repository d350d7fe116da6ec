"""Create the files of a new study of open answers."""

from __future__ import annotations

import os
import secrets
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oversight.harness.analysis import (
    SEED_BITS,
    make_roster,
    propose,
    refuse_study,
    study_items,
    to_toml,
    write_missing,
)
from oversight.harness.config import SCHEMA_FILE, Study, read_schema_text
from oversight.harness.errors import BadInput
from oversight.harness.open_answers.rubric_files import has_rubrics, read_rubrics

_STUDY = """\
#:schema study.schema.json
# A study of open answers: experts judge criteria or claims of their own field.

[study]
name = {name}
seed = {seed}  # of every random draw; keep it secret

[items]
file = {file}
answers = "open"
{columns}
[open]
units = "{units}"  # "rubric", "answer", "sentences", or "claims" (with a splitter)
# rubric = "rubrics.jsonl"     # file with the rubrics, or column of the items that holds them
# splitter = "small"           # units = "claims": the model that lists the claims of an answer
# draw = "first no"            # ask about an answer until its first error; or "judge"
# judge = "large"              # a model, or a file, that says how likely each unit is met; narrows intervals

[models.small]
endpoint = "local"             # the model of `oversight server start model`
model = "smollm2-135m-instruct"
temperature = 0.0
max_tokens = 300

# [models.large]
# endpoint = "https://api.openai.com/v1"
# model = "gpt-5-mini"
# api_key_env = "OPENAI_API_KEY"   # the key is read from this environment variable, never from here
"""
_ROSTER = "# Who judges which field. capacity = N and absent = true are optional.\n"
_HEALTHBENCH = ("prompt_id", "prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedStudy:
    """Written files, the kind of unit that experts judge, and the fields that the rubrics name."""

    written: Sequence[Path]
    units: str
    fields: Sequence[str]


def begin_open_study(
    folder: str | Path,
    items: str,
    *,
    text: str | None = None,
    seed: int | None = None,
) -> CreatedStudy:
    """Write study.toml and experts.toml for a file of questions, without overwriting files.

    If the file has rubrics, the units are their criteria. If not, they are the sentences of the answers. The
    roster gets one expert per field.

    Raises
    ------
    BadInput
        If the folder already contains a study, or it is unknown which column contains the text.
    DataError
        If the items or their rubrics are invalid; nothing is written then.

    Examples
    --------
    >>> begun = begin_open_study("open", "../data/open_answers.jsonl", seed=7)
    >>> begun.units, begun.fields
    ('rubric', ['finance', 'medicine', 'physics'])
    """
    folder = Path(folder)
    target = refuse_study(folder)
    found = propose(os.path.normpath(folder / items))
    units = "rubric" if has_rubrics(found.columns) else "sentences"
    is_healthbench = {*_HEALTHBENCH} <= {*found.columns}
    id_column, asked = _HEALTHBENCH if is_healthbench else (found.id, text or found.text)
    if asked not in found.columns:
        known = ", ".join(found.columns)
        raise BadInput(
            f"{items}: no column is known to hold the text; its columns are: {known}; name the text column "
            "with --text COLUMN"
        )
    columns = f"id = {to_toml(id_column)}\n" * bool(id_column) + f"text = {to_toml(asked)}\n"
    content = _STUDY.format(
        name=to_toml(folder.resolve().name),
        seed=secrets.randbits(SEED_BITS) if seed is None else seed,
        file=to_toml(items), columns=columns, units=units,
    )  # fmt: skip
    # Create the folder first, because otherwise paths through it cannot be resolved.
    folder.mkdir(parents=True, exist_ok=True)
    study = Study.model_validate({**tomllib.loads(content), "folder": str(folder)})
    ids = [item.id for item in study_items(study)]
    rubrics = read_rubrics(study, ids) if units == "rubric" else []
    fields = sorted({unit.field for unit in rubrics if unit.field is not None})
    files = {
        target: content,
        folder / SCHEMA_FILE: read_schema_text(),
        folder / "experts.toml": make_roster(_ROSTER, fields),
    }
    return CreatedStudy(written=write_missing(files), units=units, fields=fields)
