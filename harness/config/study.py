"""A whole study.toml as one frozen, checked `Study`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AliasPath, Field, field_validator, model_validator

from harness.config.experts_section import ExpertsSection
from harness.config.models import EndpointSection, ModelSection, Section
from harness.errors import ConfigError
from harness.output import did_you_mean, keep_secret, redact


class StudySection(Section):
    """What the study is called, its seed, and where its database lies: a file, or ``postgresql://HOST/NAME``."""

    name: str = Field(min_length=1)
    seed: int = 0
    store: str = "study.db"

    @field_validator("store")
    @classmethod
    def _without_password(cls, store: str) -> str:
        refuse_password(store)
        return store


def refuse_password(store: str) -> None:
    """Raise ValueError if the address of a database holds a password."""
    parts = urlsplit(store) if "://" in store else None
    if parts and (parts.password or "password" in dict(parse_qsl(parts.query))):
        keep_secret(parts.password)
        keep_secret(dict(parse_qsl(parts.query)).get("password"))
        raise ValueError(
            f"{redact(store)} holds a password, which belongs in no file and on no command line; leave it "
            "out, and set PGPASSWORD or use ~/.pgpass"
        )


class ItemsSection(Section):
    """Where the items come from; see `harness.datasets.ItemMapping` for the columns.

    `cluster` names a column whose equal values make items depend on each other, such as the patient that
    images are of; estimates, comparisons and panels then take clusters as the independent units.
    `skip_bad` leaves wrong rows out, which are counted, instead of refusing the file. `hub_config`, `split`
    and `revision` (a branch, tag or commit) choose of a data set on the hub; a preset has its own.
    """

    file: str | None = None
    preset: str | None = None
    hub: str | None = None
    hub_config: str | None = None
    split: str = "test"
    revision: str | None = None
    limit: int | None = Field(default=None, ge=1)
    id: str = "id"
    text: str = "text"
    classes: list[str] = Field(default=[])
    options: str | list[str] = "options"
    meta: list[str] = Field(default=[])
    cluster: str | None = None
    shuffle: bool = True
    skip_bad: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> ItemsSection:
        if not (self.file or self.preset or self.hub):
            raise ValueError("give a file, a preset or a hub data set")
        if self.hub and (self.file or self.preset):
            raise ValueError(f"hub: there is a {'file' if self.file else 'preset'}, too; leave one out")
        of_hub = {"hub_config", "split", "revision"} & self.model_fields_set
        if self.file and of_hub:
            raise ValueError(f"{min(of_hub)}: chooses of the hub, but there is a file; leave one out")
        if len(self.classes) == 1:
            raise ValueError("classes: a study needs at least 2 classes, this one has 1")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("classes: a class is there twice")
        return self


class PromptSection(Section):
    """How an item is put to a model: a template file, or the built-in one; a system prompt's file."""

    template: str | None = None
    system: str | None = None
    max_words: int | None = Field(default=None, ge=1)


class PricesSection(Section):
    """Where the table of prices lies; see `harness.llm`. Without it, ``prices.toml`` is looked for."""

    file: str | None = None


class LabelStudioSection(Section):
    """Labelling with Label Studio; URL and token come from the environment, never from here.

    `page` is a file with a labelling page of one's own; `isolated` says that every expert has a
    server of their own on this machine (``oversight label-studio start --isolated``).
    """

    instructions: str = ""
    descriptions: dict[str, str] = Field(default={})
    page: str | None = None
    isolated: bool = False


class EstimateSection(Section):
    """Confidence level and kind of interval.

    Strata are a column of the items (`strata`), or how certain a panel's vote on them is (`panel`, a file
    of ratings); not both. `looks` is how many looks at the estimates are planned (``--look J/L``), fixed with
    the design; without it the first look fixes it. `metrics` are results by class to show beside the
    accuracy, and `costs` is a table of what every truth and prediction costs; both need the same classes of
    every item.
    """

    level: float = Field(default=0.95, gt=0.5, lt=1)
    interval: str = "exact"
    strata: str | None = None
    panel: str | None = None
    looks: int | None = Field(default=None, ge=1)
    metrics: list[str] = Field(default=[])
    costs: str | None = None

    @model_validator(mode="after")
    def _one_kind_of_strata(self) -> EstimateSection:
        if self.strata and self.panel:
            raise ValueError("strata are a column or a panel's certainty, not both")
        return self


class SearchSection(Section):
    """A search for a better workflow; see docs/search.md.

    `model` answers, `optimiser` writes programs (no policy but ``"recombine"`` goes without); both name
    entries of [models]; `optimiser_temperature` and `optimiser_tokens` are those of its replies. `split` is
    the shares of the labelled items; `usd` and `tokens` cap the whole. `examples` is how many solved feedback
    items calls may show where workflow.toml names none. `labels` other than ``"all"`` search by complementary
    labels alone: ``"no"`` leaves items with a yes out, ``"drawn"`` draws a wrong option of each.
    """

    policy: Literal["recombine", "reflect", "aflow", "adas"] = "recombine"
    model: str = ""
    optimiser: str = ""
    optimiser_temperature: float = Field(default=0.8, ge=0, le=2)
    optimiser_tokens: int = Field(default=4096, ge=1)
    start: str = "cot"
    library: list[str] = Field(default=[])
    task: str = ""
    candidates: int = Field(default=48, ge=0)
    in_flight: int | None = Field(default=None, ge=1)
    rungs: list[int] = Field(default=[8, 16, 32, 120])
    keep: list[float] = Field(default=[0.5, 0.25, 0.06])
    fitness: Literal["ml", "ivw", "transformed", "raw"] = "ml"
    parity: Literal["raw", "transformed"] | None = None
    labels: Literal["all", "no", "drawn"] = "all"
    parents: Literal["leaders", "pareto"] = "leaders"
    replicates: int = Field(default=1, ge=1)
    finalists: int = Field(default=3, ge=1)
    patience: int = Field(default=0, ge=0)
    split: dict[Literal["feedback", "select", "confirm", "test"], float] = Field(
        default={"feedback": 0.15, "select": 0.35, "confirm": 0.25, "test": 0.25}
    )
    examples: int = Field(default=8, ge=0)
    tier: str = "monty"
    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)


class Study(Section):
    """A whole study.toml.

    `judges`, written ``judge = "name"`` under ``[models]``, one or a list, are models whose probabilities
    narrow the estimates of the others; they are no candidates themselves.
    """

    study: StudySection
    items: ItemsSection
    experts: ExpertsSection = ExpertsSection()
    prompt: PromptSection = PromptSection()
    endpoints: dict[str, EndpointSection] = Field(default={})
    models: dict[str, ModelSection] = Field(default={})
    judges: list[str] = Field(default=[], validation_alias=AliasPath("models", "judge"))
    prices: PricesSection = PricesSection()
    label_studio: LabelStudioSection = LabelStudioSection()
    search: SearchSection = SearchSection()
    estimate: EstimateSection = EstimateSection()
    folder: str = Field(default=".", exclude=True)

    @field_validator("models", mode="before")
    @classmethod
    def _without_judges(cls, table: Any) -> Any:
        named = isinstance(table, dict) and not isinstance(table.get("judge", {}), dict)
        return {name: value for name, value in table.items() if name != "judge"} if named else table

    @field_validator("judges", mode="before")
    @classmethod
    def _list_judges(cls, named: Any) -> Any:
        # a section [models.judge] is a model of that name
        return [] if isinstance(named, dict) else [named] if isinstance(named, str) else named

    @field_validator("judges")
    @classmethod
    def _named_once(cls, names: list[str]) -> list[str]:
        if not all(names) or len(set(names)) < len(names):
            raise ValueError("a judge is named twice, or has no name")
        return names

    def path(self, name: str) -> Path:
        """Path of a file that study.toml names, relative to its folder."""
        return Path(self.folder) / name

    @property
    def store_url(self) -> str:
        """SQLAlchemy URL of the database; a plain path means SQLite."""
        store = self.study.store
        return store if "://" in store else f"sqlite:///{self.path(store)}"

    @property
    def has_server(self) -> bool:
        """Whether the database is on a server, which several machines share."""
        return "://" in self.study.store and not self.study.store.startswith("sqlite")

    @property
    def reference_file(self) -> Path | None:
        """Path of the experts' labels that a panel is held against; None if there are none."""
        return self.path(self.experts.reference) if self.experts.reference else None

    @property
    def price_file(self) -> tuple[Path, bool]:
        """Path of the price table, and whether study.toml names it, so that it must be there."""
        named = self.prices.file
        return self.path(named or "prices.toml"), named is not None

    def model(self, name: str) -> ModelSection:
        """Settings of a model, with those of the endpoint it names filled in.

        Raises
        ------
        ConfigError
            If study.toml has no such model.
        """
        if name not in self.models:
            known = ", ".join(self.models) or "none"
            raise ConfigError(
                f"study.toml [models]: there is no model {name!r}; there are: {known}"
                + did_you_mean(name, self.models)
            )
        return self.models[name].with_endpoint(self.endpoints)
