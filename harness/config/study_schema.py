"""The JSON Schema of study.toml, for editors: generated from the settings, and shipped with them.

``python -m oversight.harness.config.study_schema`` writes it again after a setting was changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oversight.harness.config.models import ENDPOINT_ONLY
from oversight.harness.config.study import Study

SCHEMA_FILE = "study.schema.json"
"""Its name, here and beside every study.toml that names it in its first line."""
_SHIPPED = Path(__file__).parent / SCHEMA_FILE


def generate_schema() -> dict[str, Any]:
    """The schema of the settings as they are."""
    schema = Study.model_json_schema()
    del schema["properties"]["folder"]  # no setting: where the file lies
    for name in ENDPOINT_ONLY:
        del schema["$defs"]["ModelSection"]["properties"][name]
    models, judges = schema["properties"]["models"], schema["properties"].pop("judges")
    one, several = {"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}
    section = models["additionalProperties"]  # a model may have that name, too
    models["description"] = (
        "Models by name. `judge` names one or several whose probabilities narrow the estimates of the "
        "others; they are no candidates themselves."
    )
    models["properties"] = {"judge": {"anyOf": [one, several, section], "default": judges["default"]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def read_schema_text() -> str:
    """The shipped schema, as a file's text."""
    return _SHIPPED.read_text(encoding="utf-8")


def write_schema() -> None:
    """Write the schema that is shipped."""
    text = json.dumps(generate_schema(), ensure_ascii=False, indent=1)
    _SHIPPED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schema()
