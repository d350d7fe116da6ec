"""A whole study.toml as one frozen, checked `Study`."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasPath, Field, field_validator, model_validator

from harness.config.models import EndpointSection, ModelSection, Section
from harness.errors import ConfigError
from harness.output import did_you_mean
from harness.registry import PROTOCOLS, state_protocol
from harness.types import ProtocolStatement


class StudySection(Section):
    """What the study is called, its seed, and where its database lies."""

    name: str = Field(min_length=1)
    seed: int = 0
    store: str = "study.db"


class ItemsSection(Section):
    """Where the items come from; see `harness.datasets.ItemMapping` for the columns.

    `cluster` names a column whose equal values make items depend on each other, such as the patient that
    images are of; estimates, comparisons and panels then take clusters as the independent units.
    `skip_bad` leaves wrong rows out, which are counted, instead of refusing the file.
    """

    file: str | None = None
    preset: str | None = None
    hub: str | None = None
    hub_config: str | None = None
    split: str = "test"
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
        if len(self.classes) == 1:
            raise ValueError("classes: a study needs at least 2 classes, this one has 1")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("classes: a class is there twice")
        return self


class ExpertsSection(Section):
    """The roster file and the rule that routes items to experts.

    `protocol` is a name of `harness.registry.PROTOCOLS`. `models` names the models whose predictions
    a rule looks at; empty means all that were run. `epsilon` is the uniform share of targeted routing
    for several. With a panel, `annotators_per_item` of those who judge any class choose among all
    options of each item, and `reference` may name a file of labels by experts who are none of them, which
    human-level indices hold people and models against. `questions` draws as many items of all as that many
    questions are expected to settle, instead of asking about every item; `draw` says how: in proportion by
    how models agree (``agreement``), or with chances by how unsure the study's judges are (``deviation``).
    """

    roster: str = "experts.toml"
    protocol: str = Field(default=next(iter(PROTOCOLS)), json_schema_extra={"enum": list(PROTOCOLS)})
    options_per_item: int = Field(default=1, ge=1)
    annotators_per_item: int = Field(default=3, ge=2)
    models: list[str] = Field(default=[])
    epsilon: float = Field(default=0.1, ge=0, le=1)
    questions: int | None = Field(default=None, ge=1)
    draw: Literal["agreement", "deviation"] = "agreement"
    deadline: date | None = None
    reference: str | None = None
    gold: str | None = Field(default=None, min_length=1)
    gold_share: float = Field(default=0.1, gt=0, le=1)
    repeat: float = Field(default=0, ge=0, le=1)
    overlap: float = Field(default=0, ge=0, le=1)
    sensitivity: list[float] = Field(default=[0.5, 1.0])
    specificity: list[float] = Field(default=[0.5, 1.0])

    @field_validator("sensitivity", "specificity")
    @classmethod
    def _is_range(cls, ends: list[float]) -> list[float]:
        if len(ends) != 2 or not 0.5 <= ends[0] <= ends[1] <= 1:
            raise ValueError("must be a range within 0.5 and 1, as in [0.9, 1.0]")
        return ends

    @model_validator(mode="after")
    def _can_weave(self) -> ExpertsSection:
        """Refuse control questions where answers are no accuracy of a question asked once."""
        named = [name for name in ("gold", "repeat", "overlap") if getattr(self, name)]
        if "gold_share" in self.model_fields_set and self.gold is None:
            raise ValueError('gold_share: there are no gold items; name their file, as in gold = "key.csv"')
        if not named:
            return self
        rule = self.statement
        if rule.is_panel or rule.asks_on or "accuracy" not in rule.answers:
            told = f"the protocol {self.protocol!r} has no place for control questions"
            raise ValueError(f"{', '.join(named)}: {told}; leave it out, or use 'partitioned' or 'targeted'")
        return self

    @property
    def knows_errors(self) -> bool:
        """Whether a range is given in which experts' error rates lie."""
        return bool({"sensitivity", "specificity"} & self.model_fields_set)

    @property
    def has_controls(self) -> bool:
        """Whether control questions are woven into experts' queues."""
        return bool(self.gold or self.repeat or self.overlap)

    @property
    def is_panel(self) -> bool:
        """Whether several annotators choose among all options, and nobody is asked yes or no."""
        return self.statement.is_panel

    @property
    def statement(self) -> ProtocolStatement:
        """What the protocol's class states of its labels."""
        return state_protocol(self.protocol)

    @field_validator("protocol")
    @classmethod
    def _registered(cls, name: str) -> str:
        if name not in PROTOCOLS:
            *most, last = (repr(known) for known in PROTOCOLS)
            raise ValueError(f"Input should be {', '.join(most)} or {last}")
        return name


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
    candidates: int = Field(default=24, ge=0)
    in_flight: int | None = Field(default=None, ge=1)
    rungs: list[int] = Field(default=[15, 30, 60, 120])
    keep: list[float] = Field(default=[0.5, 0.25, 0.125])
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
