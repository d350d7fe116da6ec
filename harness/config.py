"""study.toml and the environment become one frozen, checked `Study`; a run becomes a hashed `RunSpec`.

Secrets are only ever read from environment variables, at the moment of use, by `api_key`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import ConfigError, DataError
from harness.search_settings import SearchSection

STUDY_FILE = "study.toml"
LOCAL_ENDPOINT = "local"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class StudySection(_Section):
    """What the study is called, its seed, and where its database lies."""

    name: str = Field(min_length=1)
    seed: int = 0
    store: str = "study.db"


class ItemsSection(_Section):
    """Where the items come from; see `harness.datasets.ItemMapping` for the columns."""

    file: str | None = None
    preset: str | None = None
    hub: str | None = None
    hub_config: str | None = None
    split: str = "test"
    limit: int | None = Field(default=None, ge=1)
    id: str = "id"
    text: str = "text"
    classes: list[str] = []
    options: str | list[str] = "options"
    meta: list[str] = []
    shuffle: bool = True

    @model_validator(mode="after")
    def _one_source(self) -> ItemsSection:
        if not (self.file or self.preset or self.hub):
            raise ValueError("give a file, a preset or a hub data set")
        if len(self.classes) == 1:
            raise ValueError("classes: a study needs at least 2 classes, this one has 1")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("classes: a class is there twice")
        return self


class ExpertsSection(_Section):
    """The roster file and the rule that routes items to experts.

    `models` names the models whose predictions the rules other than ``"partitioned"`` look at;
    empty means all that were run. `epsilon` is the uniform share of ``"targeted"`` for several.
    With ``"panel"`` (balanced blocks) and ``"panel-random"``, `annotators_per_item` of those who judge
    any class choose among all options of each item.
    """

    roster: str = "experts.toml"
    protocol: Literal["partitioned", "targeted", "disagreement", "sequential", "panel", "panel-random"] = (
        "partitioned"
    )
    options_per_item: int = Field(default=1, ge=1)
    annotators_per_item: int = Field(default=3, ge=2)
    models: list[str] = []
    epsilon: float = Field(default=0.1, ge=0, le=1)

    @property
    def is_panel(self) -> bool:
        """Whether several annotators choose among all options, and nobody is asked yes or no."""
        return self.protocol.startswith("panel")


class PromptSection(_Section):
    """How an item is put to a model: a template file, or the built-in one."""

    template: str | None = None
    max_words: int | None = Field(default=None, ge=1)


class ModelSection(_Section):
    """One model behind an OpenAI-compatible endpoint.

    `endpoint` is a base URL, or ``"local"`` for the server of ``oversight model start``.
    """

    endpoint: str = "https://api.openai.com/v1"
    model: str = Field(min_length=1)
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=1)
    stop: list[str] = []
    concurrency: int = Field(default=8, ge=1, le=1024)
    timeout: float = Field(default=60.0, gt=0)
    tries: int = Field(default=5, ge=1)


class PricesSection(_Section):
    """Where the table of prices lies; see `harness.llm.cost`. Without it, ``prices.toml`` is looked for."""

    file: str | None = None


class LabelStudioSection(_Section):
    """Labelling with Label Studio; URL and token come from the environment, never from here.

    `page` is a file with a labelling page of one's own; `isolated` says that every expert has a
    server of their own on this machine (``oversight label-studio start --isolated``).
    """

    instructions: str = ""
    descriptions: dict[str, str] = {}
    page: str | None = None
    isolated: bool = False


class EstimateSection(_Section):
    """Confidence level and kind of interval."""

    level: float = Field(default=0.95, gt=0.5, lt=1)
    interval: str = "exact"
    strata: str | None = None


class Study(_Section):
    """A whole study.toml."""

    study: StudySection
    items: ItemsSection
    experts: ExpertsSection = ExpertsSection()
    prompt: PromptSection = PromptSection()
    models: dict[str, ModelSection] = {}
    prices: PricesSection = PricesSection()
    label_studio: LabelStudioSection = LabelStudioSection()
    search: SearchSection = SearchSection()
    estimate: EstimateSection = EstimateSection()
    folder: str = Field(default=".", exclude=True)

    def path(self, name: str) -> Path:
        """Path of a file that study.toml names, relative to its folder."""
        return Path(self.folder) / name

    @property
    def store_url(self) -> str:
        """SQLAlchemy URL of the database; a plain path means SQLite."""
        store = self.study.store
        return store if "://" in store else f"sqlite:///{self.path(store)}"

    def model(self, name: str) -> ModelSection:
        """Settings of a model.

        Raises
        ------
        ConfigError
            If study.toml has no such model.
        """
        if name not in self.models:
            known = ", ".join(self.models) or "none"
            raise ConfigError(f"{STUDY_FILE} [models]: there is no model {name!r}; there are: {known}")
        return self.models[name]


class RunSpec(_Section):
    """All that decides a model's answers; its hash names the run.

    Attributes
    ----------
    model, endpoint, temperature, max_tokens, stop
        As sent to the endpoint.
    template
        The text of the prompt template, not its file name.
    max_words
        Longest text that is shown, in words; None shows all.
    """

    name: str
    model: str
    endpoint: str
    temperature: float | None
    max_tokens: int | None
    stop: tuple[str, ...]
    template: str
    max_words: int | None

    @property
    def id(self) -> str:
        """First 12 hexadecimal digits of the SHA-256 of the spec."""
        text = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_study(path: str | Path = STUDY_FILE) -> Study:
    """Read a study file.

    Raises
    ------
    DataError
        Naming file, line and key of the first thing wrong: no such file, malformed TOML, an
        unknown key, a wrong type, a value out of range.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError("there is no such study file; make one with: oversight init", file=path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from None
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else None
        raise DataError(f"not valid TOML: {error}", file=path, line=line) from None
    table.pop("folder", None)
    try:
        return Study.model_validate({**table, "folder": str(path.parent)})
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(k) for k in first["loc"] if k != "folder"]
        raise DataError(_reason(first), file=path, line=_line(text, keys), field=".".join(keys)) from None


def _reason(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key; see the commented file that `oversight init` writes"
    if error["type"] == "missing":
        return "is missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    shown = "" if isinstance(error["input"], dict) else f", is {error['input']!r}"
    return message[0].lower() + message[1:] + shown


def _line(text: str, keys: list[str]) -> int | None:
    """Line of the key in the file, or of its section, so that an editor can jump there."""
    best, section = None, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        stripped = raw.strip()
        header = re.match(r"\[+\s*([^\]]+?)\s*\]+", stripped)
        if header:
            section = header[1].replace('"', "")
            if ".".join(keys).startswith(section):
                best = number
        elif "=" in stripped:
            key = ".".join(filter(None, (section, stripped.split("=", 1)[0].strip().strip('"'))))
            if ".".join(keys) == key or ".".join(keys).startswith(key + "."):
                return number
    return best


def api_key(model: ModelSection) -> str:
    """Read the key of a model's endpoint from the environment.

    Raises
    ------
    ConfigError
        If the variable is not set. Endpoints on the loopback interface need no key.
    """
    key = os.environ.get(model.api_key_env, "")
    if key:
        return key
    if model.endpoint == LOCAL_ENDPOINT or re.match(r"https?://(localhost|127\.|\[::1\])", model.endpoint):
        return "none"
    raise ConfigError(
        f"the environment variable {model.api_key_env} is not set; it holds the key for {model.endpoint}"
    )
