"""A whole study.toml as one frozen, checked `Study`."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import AliasPath, Field, field_validator, model_validator

from oversight.harness.config.experts_section import ExpertsSection
from oversight.harness.config.items_section import ItemsSection
from oversight.harness.config.models import AnswerForm, EndpointSection, ModelSection, Section, check_pattern
from oversight.harness.config.search_section import SearchSection
from oversight.harness.errors import ConfigError
from oversight.harness.output import did_you_mean, keep_secret, redact


class StudySection(Section):
    """What the study is called, and where its database lies.

    Attributes
    ----------
    name
        Name of the study, as tables and pages show it.
    seed
        Seed of every random draw; it cannot change once questions are drawn.
    store
        Its database: a file, or ``postgresql://HOST/NAME``; never with a password.
    """

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


class PromptSection(Section):
    """How an item is put to a model.

    Attributes
    ----------
    template
        File with the prompt's template, of the fields ``$text``, ``$options``, ``$names`` and
        ``$letters``; unset, the built-in one is taken.
    system
        File with the system prompt; unset, none is sent.
    max_words
        Most words of an item's text that are shown; unset, all are.
    answer
        The form of an answer that counts as asked for: ``"line"`` is a last line ``ANSWER: X`` or ``### X``,
        which the template asks for. ``"schema"`` makes the endpoint answer in a JSON Schema with the options,
        ``"choice"`` with one of them and nothing else, where the server can be told so. ``"free"`` asks for
        no form.
    pattern
        A regular expression of your own whose group ``(?P<answer>…)`` holds the letter or text of the option.
        Its last match is read, and else only a reply that is nothing but an option.
    """

    template: str | None = None
    system: str | None = None
    max_words: int | None = Field(default=None, ge=1)
    answer: AnswerForm = "line"
    pattern: str | None = None

    @field_validator("pattern")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern)


class PricesSection(Section):
    """What calls cost.

    Attributes
    ----------
    file
        File with the table of prices; without it ``prices.toml`` is looked for.
    """

    file: str | None = None


class LabelStudioSection(Section):
    """Labelling in Label Studio or on the answer page; URL and token come from the environment alone.

    Attributes
    ----------
    instructions
        Text that experts see with every question.
    descriptions
        Class → what it means, shown where an expert is asked about it.
    page
        File with a labelling page of one's own for Label Studio.
    isolated
        Whether every expert has a server of their own on this machine started by
        ``oversight label-studio start``, so that nobody sees another's answers.
    """

    instructions: str = ""
    descriptions: dict[str, str] = Field(default={})
    page: str | None = None
    isolated: bool = False


class PeopleSection(Section):
    """What becomes of an expert's answers when the expert is erased.

    Attributes
    ----------
    keep_labels
        Whether answers stay, under a made-up name; if not, they are withdrawn and their questions are open.
    """

    keep_labels: bool = True


class EstimateSection(Section):
    """How results are computed: level and kind of interval, strata, results by class.

    Attributes
    ----------
    level
        Confidence level of intervals.
    interval
        Kind of interval: ``"exact"``, or a name of those that ``oversight estimate --interval`` takes.
    strata
        Column of the items, or ``"confidence"``, by which estimates are made and weighted; not with a
        panel.
    panel
        File of ratings: strata are how certain the panel's vote on each item is.
    looks
        Number of looks that are planned (``--look J/L``); without it the first look fixes it.
    metrics
        Results by class to show beside the accuracy, where all items have the same classes.
    costs
        File with a table of what every truth and prediction costs, where all items have the same classes.
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
    people: PeopleSection = PeopleSection()
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
