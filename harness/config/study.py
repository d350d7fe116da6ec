"""A complete study.toml as one frozen, checked `Study`, and its sections."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from string import Template
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AliasPath, Field, field_validator, model_validator

from oversight.harness.config.models import AnswerForm, EndpointSection, ModelSection, Section, check_pattern
from oversight.harness.errors import BadInput, ConfigError
from oversight.harness.output import did_you_mean, keep_secret, redact
from oversight.harness.registry import DEFAULT_PROTOCOL, OPEN_PROTOCOL, PROTOCOLS, state_protocol
from oversight.harness.types import ProtocolStatement

_OF_OPEN_ANSWERS = {"roster", "protocol", "models", "questions", "deadline", "gold", "overlap"}
"""Settings under [experts] that apply to open answers."""


class ItemsSection(Section):
    """Source of the items: a file, a public benchmark (a preset) or a data set on the hub.

    Attributes
    ----------
    file
        File with the items (CSV, JSON Lines, Parquet, Excel); with a preset, a local copy of its file.
    preset
        Name of a public benchmark, which determines columns, options and split.
    hub
        Data set on the Hugging Face hub, instead of a file. Both names can end with a configuration and with
        a branch, tag or commit: ``"OWNER/NAME:CONFIGURATION@REVISION"``.
    split
        Split of the hub's data set; a preset has its own.
    limit
        Use only the first items, up to this number; if unset, use all.
    id
        Column with a unique id. If this is unset and there is no column ``id``, the id is a hash of text and
        options.
    text
        Column with the text of the question.
    classes
        Classes that are the options of every item; each class has its own expert. Leave it out if options
        differ between items.
    options
        Without classes: a column with a list of options, or several columns with one option each.
    meta
        Columns that are kept with the items, for estimates by stratum.
    cluster
        Column whose equal values mark dependent items, for example the patient of several images; estimates,
        comparisons and panels then treat clusters instead of items as independent. ``"@text"`` is not a
        column: it makes a cluster of items that have the same text and options but different ids.
    shuffle
        Whether options are shown in a random order, drawn for each item and stored with it.
    skip_bad
        Whether bad rows are left out and counted. If false, a file with a bad row is refused.
    answers
        Kind of answers: one of the item's options (``"options"``), or a text (``"open"``),
        which experts judge unit by unit; see docs/open-answers.md.
    """

    file: str | None = None
    preset: str | None = None
    hub: str | None = None
    hub_config: str | None = None  # read from the end of `hub` or `preset`, like `revision`
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
    answers: Literal["options", "open"] = "options"

    @model_validator(mode="before")
    @classmethod
    def _split_name(cls, table: Any) -> Any:
        """Split ``NAME:CONFIGURATION@REVISION``."""
        for name in ("hub", "preset") if isinstance(table, dict) else ():
            found = re.fullmatch(r"([^:@]+)(?::([^@]+))?(?:@(.+))?", str(table.get(name, "")))
            if found and found[0] != found[1] and not Path(found[0]).is_dir():
                parts = {name: found[1], "hub_config": found[2], "revision": found[3]}
                return {**table, **{key: part for key, part in parts.items() if part}}
        return table

    @model_validator(mode="after")
    def _has_no_options(self) -> ItemsSection:
        given = {"classes", "options", "preset", "shuffle"} & self.model_fields_set
        if self.answers == "open" and given:
            raise ValueError(f"{min(given)}: open answers are texts and have no options; leave it out")
        return self

    @model_validator(mode="after")
    def _one_source(self) -> ItemsSection:
        if not (self.file or self.preset or self.hub):
            raise ValueError("give a file, a preset or a hub data set")
        if self.hub and (self.file or self.preset):
            raise ValueError(f"hub: a {'file' if self.file else 'preset'} is also given; leave one out")
        of_hub = {"hub_config", "split", "revision"} & self.model_fields_set
        if self.file and of_hub:
            part = min(of_hub).removeprefix("hub_")
            raise ValueError(f"{part}: applies only to a hub data set, but a file is given; leave one out")
        if len(self.classes) == 1:
            raise ValueError("classes: a study needs at least 2 classes, but has 1")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("classes: a class occurs twice")
        return self


class OpenSection(Section):
    """How open answers are judged; see docs/open-answers.md.

    Attributes
    ----------
    units
        Unit that an expert judges: a criterion of the item's rubric (``"rubric"``), the whole answer
        (``"answer"``), a sentence of the answer (``"sentences"``), or a claim that a model finds in the
        answer (``"claims"``).
    rubric
        File with the rubrics, or column of the items with their rubrics; if unset, the items' columns are
        searched.
    splitter
        Entry of ``[models]`` that finds the claims of an answer.
    draw
        How questions are drawn: with ``"equal"``, about equally many per answer; with ``"judge"``, more about
        units of which a judge is unsure; with ``"first no"``, the units of an answer are asked about one
        after another until an expert says no.
    judge
        Source of the probability that a unit is met: an entry of ``[models]``, or a file with the columns
        item, model, unit, probability.
    """

    units: Literal["rubric", "answer", "sentences", "claims"] = "rubric"
    rubric: str | None = None
    splitter: str = ""
    draw: Literal["equal", "judge", "first no"] = "equal"
    judge: str | None = None

    @model_validator(mode="after")
    def _go_together(self) -> OpenSection:
        if self.rubric and self.units != "rubric":
            raise ValueError(
                f'rubric: the units are {self.units!r}; leave out `rubric`, or set units = "rubric"'
            )
        if bool(self.splitter) != (self.units == "claims"):
            raise ValueError('set both `splitter` and units = "claims", or neither')
        if self.draw == "judge" and not self.judge:
            raise ValueError('judge: draw = "judge" needs the name of a model or of a file of probabilities')
        return self


class SearchSection(Section):
    """A search for a better workflow; see docs/search.md.

    Attributes
    ----------
    policy
        How workflows are proposed: by edits and crossover without a model (``"recombine"``), or by the
        optimiser (``"reflect"``, ``"aflow"``, ``"adas"``).
    model
        Entry of ``[models]`` that the workflows call to answer the items; if empty, the first entry.
    optimiser
        Entry of ``[models]`` that writes workflows; every policy except ``"recombine"`` needs it. If it is
        not the entry `model`, its ``temperature`` (if unset, 0.8) and ``max_tokens`` (if unset, 4096) apply.
    start
        The workflow that you would use at present: the name of a workflow in the library, a ``.py`` file, or
        a prompt in a ``.txt`` or ``.md`` file. The winner is compared with it.
    library
        Further workflows to start from; if empty, all workflows of the library.
    task
        Description of the task for the optimiser.
    candidates
        Number of proposals.
    in_flight
        Number of proposals that are made and raced at once. With n at once, proposal s uses only the results
        of proposals up to s − n. If unset, the number follows from the endpoint's concurrency.
    rungs
        Numbers of selection items after which the weakest proposals are dropped.
    keep
        Shares of all proposals that are kept after each rung.
    parity
        If set, the published agent search is repeated with this score: the share of answers that experts do
        not refute (``"raw"``), or accuracy as the mean of transformed answers (``"transformed"``). If unset,
        this project's search runs, and ranks proposals by accuracy estimated by maximum likelihood.
    labels
        Experts' answers that the search uses: all answers (``"all"``), or only noes. With ``"no"``, items
        with a yes are left out; with ``"drawn"``, a yes is replaced by a no about a random wrong option.
    split
        Shares of the labelled items for feedback to proposers, for selection, for confirmation, and for the
        final test.
    tier
        Sandbox in which programs run: ``"monty"``, ``"cpython"`` or ``"bubblewrap"``.
    usd
        Cap on the cost of the whole search in dollars, by prices.toml; if unset, there is no cap.
    tokens
        Cap on the tokens of the whole search; if unset, there is no cap.
    """

    # Some fields cannot be set in study.toml (see `study_file`): they exist because a search stores them, and
    # because `parity` changes their values.
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
    fitness: Literal["ml", "transformed", "raw"] = "ml"
    parity: Literal["raw", "transformed"] | None = None
    labels: Literal["all", "no", "drawn"] = "all"
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


class ExpertsSection(Section):
    """The roster, the rule that draws questions for experts, and known ranges of experts' error rates.

    Attributes
    ----------
    roster
        File with the experts, their classes and capacities.
    question_text
        The yes/no question in the experts' language, where ``$option`` stands for the option; in a panel,
        the question about all options, without ``$option``. If unset, experts are asked in English.
    protocol
        Rule that draws questions (docs/choose.md) or, for a panel, assigns items to annotators
        (docs/panels.md).
    options_per_item
        For partitioned questions: number of different options asked about per item.
    annotators_per_item
        For a panel: number of annotators per item, drawn from the experts with ``classes = ["*"]``; they
        choose among all options.
    models
        Models whose predictions the protocol uses; if empty, all models that were run.
    epsilon
        For targeted questions about several models: share of the questions whose option is drawn uniformly
        from all options.
    questions
        Number of questions; the study draws as many items as these questions are expected to decide. If
        unset, experts are asked about every item.
    draw
        How items are drawn if `questions` is set: from strata of the models' agreement, in proportion to the
        strata's sizes (``"agreement"``), or with probabilities that follow the uncertainty of the study's
        judges (``"deviation"``).
    deadline
        Day by which answers are due; shown to experts and in reminders.
    reference
        File of labels by experts outside the panel, with which human-level indices compare people and
        models.
    gold
        File of items with known answers, mixed into the queues as control questions; see docs/controls.md.
        For open answers, file of units whose truth is known.
    gold_share
        Number of gold questions, as a share of the study's questions.
    repeat
        Share of the questions that are repeated later to the same expert.
    overlap
        Share of the questions that a second expert also receives.
    sensitivity
        Range that contains experts' probability of a yes to the true option.
    specificity
        Range that contains experts' probability of a no to a false option.
    """

    roster: str = "experts.toml"
    question_text: str | None = None
    protocol: str = Field(default=DEFAULT_PROTOCOL, json_schema_extra={"enum": list(PROTOCOLS)})
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
            raise ValueError("must be a range between 0.5 and 1, as in [0.9, 1.0]")
        return ends

    @model_validator(mode="after")
    def _fits_open_answers(self) -> ExpertsSection:
        """Refuse settings that studies of open answers do not use."""
        ignored = self.model_fields_set - _OF_OPEN_ANSWERS
        if self.protocol == OPEN_PROTOCOL and ignored:
            raise ValueError(f"{min(ignored)}: does not apply to open answers; leave it out")
        return self

    @model_validator(mode="after")
    def _can_ask(self) -> ExpertsSection:
        """Check that a question text has only the field ``$option``, and that a panel's text has no field."""
        if self.question_text is None:
            return self
        template = Template(self.question_text)
        if not template.is_valid():
            raise ValueError("question_text: a $ does not begin a field; write $$ for a dollar sign")
        fields = [] if self.is_panel else ["option"]
        if template.get_identifiers() != fields or not self.question_text.strip():
            wanted = (
                "have no field, because a panel's question is about all options"
                if self.is_panel
                else "have the field $option and no other"
            )
            raise ValueError(f"question_text: must {wanted}, is {self.question_text!r}")
        return self

    @model_validator(mode="after")
    def _can_insert_controls(self) -> ExpertsSection:
        """Refuse control questions if the protocol does not allow them."""
        named = [name for name in ("gold", "repeat", "overlap") if getattr(self, name)]
        if "gold_share" in self.model_fields_set and self.gold is None:
            raise ValueError('gold_share: there are no gold items; name their file, such as gold = "key.csv"')
        if not named or self.protocol == OPEN_PROTOCOL:
            return self
        rule = self.statement
        if rule.is_panel or rule.asks_on or "accuracy" not in rule.answers:
            told = f"the protocol {self.protocol!r} does not allow control questions"
            raise ValueError(
                f"{', '.join(named)}: {told}; leave them out, or use the protocol 'partitioned' or 'targeted'"
            )
        return self

    @property
    def knows_errors(self) -> bool:
        """Whether a range of experts' error rates is given."""
        return bool({"sensitivity", "specificity"} & self.model_fields_set)

    @property
    def has_controls(self) -> bool:
        """Whether experts' queues contain control questions."""
        return bool(self.gold or self.repeat or self.overlap)

    @property
    def is_panel(self) -> bool:
        """Whether several annotators choose among all options, instead of answering yes or no."""
        return self.statement.is_panel

    @property
    def statement(self) -> ProtocolStatement:
        """Properties of the protocol's labels, as the protocol's class states them."""
        return state_protocol(self.protocol)

    @field_validator("protocol")
    @classmethod
    def _registered(cls, name: str) -> str:
        if name not in PROTOCOLS:
            *most, last = (repr(known) for known in PROTOCOLS)
            raise ValueError(f"Input should be {', '.join(most)} or {last}")
        return name


class StudySection(Section):
    """Name of the study, and address of its database.

    Attributes
    ----------
    name
        Name of the study in tables and on pages.
    seed
        Seed of every random draw; it cannot change once questions are drawn.
    store
        Database of the study: a file, or ``postgresql://HOST/NAME`` without a password.
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
    """Raise ValueError if a database's address contains a password."""
    parts = urlsplit(store) if "://" in store else None
    if parts and (parts.password or "password" in dict(parse_qsl(parts.query))):
        keep_secret(parts.password)
        keep_secret(dict(parse_qsl(parts.query)).get("password"))
        raise ValueError(
            f"{redact(store)} contains a password, which must not be in a file or command line; leave it "
            "out, and set PGPASSWORD or use ~/.pgpass"
        )


class PromptSection(Section):
    """The prompt that presents an item to a model, and the form of its answer.

    Attributes
    ----------
    template
        File with the prompt template, which has the fields ``$text``, ``$options``, ``$names`` and
        ``$letters``; if unset, the built-in template.
    system
        File with the system prompt; if unset, none is sent.
    max_words
        Largest number of words of an item's text that are shown; if unset, all are shown.
    answer
        Required form of an answer: ``"line"`` is a last line ``ANSWER: X`` or ``### X``,
        which the template requests. ``"schema"`` makes the endpoint answer in a JSON Schema with the options.
        ``"choice"`` makes it answer with exactly one of the options, if the server supports this.
        ``"probabilities"`` adds to the template that the last line states a probability of every option; the
        most likely option is the answer. ``"free"`` requires no form.
    pattern
        Your own regular expression, whose group ``(?P<answer>…)`` matches the letter or text of the option.
        The last match in a reply is read. A reply without a match is read only if it consists of an option.
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


class CostsSection(Section):
    """Costs of experts and judges, from which ``oversight plan`` finds the cheapest mix.

    Attributes
    ----------
    question_usd
        Dollars per question to an expert.
    question_minutes
        Minutes that an expert needs per question.
    judge_usd
        Dollars per item for a judge.
    """

    question_usd: float = Field(default=0, ge=0)
    question_minutes: float = Field(default=0, ge=0)
    judge_usd: float = Field(default=0, ge=0)

    @property
    def is_given(self) -> bool:
        """Whether any cost is set."""
        return any(self.model_dump().values())


class LabelStudioSection(Section):
    """Labelling in Label Studio or on the answer page; URL and token come only from the environment.

    Attributes
    ----------
    instructions
        Text that experts see with every question.
    descriptions
        Description of each class, shown when an expert is asked about the class.
    page
        File with your own labelling page for Label Studio.
    isolated
        Whether every expert has a separate server on this machine, started by ``oversight server start
        label-studio``, so that no expert sees another expert's answers.
    """

    instructions: str = ""
    descriptions: dict[str, str] = Field(default={})
    page: str | None = None
    isolated: bool = False


class PeopleSection(Section):
    """Treatment of an expert's answers when the expert is erased.

    Attributes
    ----------
    keep_labels
        Whether answers are kept under a pseudonym. If false, they are withdrawn, and their questions are open
        again.
    """

    keep_labels: bool = True


class EstimateSection(Section):
    """How results are computed: level and kind of interval, strata, results by class.

    Attributes
    ----------
    level
        Confidence level of intervals.
    interval
        Kind of interval: ``exact``, or ``score``, ``likelihood_ratio``, ``wald``, ``blaker``, ``wilson``,
        ``jeffreys``, ``clopper_pearson``, ``hoeffding``, ``bernstein``.
    strata
        Column of the items, or ``"confidence"`` for the model's confidence. Each stratum is estimated
        separately, and the strata are weighted by size. A study that is a panel cannot use this setting. If
        items lack the column, it is read from the metadata of imported logs.
    panel
        File of a panel's ratings; the strata are then bins of the certainty of the panel's vote on each item.
    metrics
        Results by class that are shown with the accuracy; all items must have the same classes.
    costs
        File with the cost of each pair of truth and prediction; all items must have the same classes.
    """

    level: float = Field(default=0.95, gt=0.5, lt=1)
    interval: str = "exact"
    strata: str | None = None
    panel: str | None = None
    metrics: list[str] = Field(default=[])
    costs: str | None = None

    @field_validator("metrics", mode="before")
    @classmethod
    def _split_metrics(cls, named: Any) -> Any:
        return [name.strip() for name in named.split(",")] if isinstance(named, str) else named

    @model_validator(mode="after")
    def _one_kind_of_strata(self) -> EstimateSection:
        if self.strata and self.panel:
            raise ValueError(
                "strata, panel: the strata come from a column or from a panel, not both; leave one out"
            )
        return self


class Study(Section):
    """A complete study.toml.

    `judges`, written ``judge = "name"`` (or a list of names) under ``[models]``, are models whose
    probabilities make the intervals of the other models narrower. The judges' own accuracies are not
    estimated.
    """

    study: StudySection
    items: ItemsSection
    experts: ExpertsSection = ExpertsSection()
    prompt: PromptSection = PromptSection()
    endpoints: dict[str, EndpointSection] = Field(default={})
    models: dict[str, ModelSection] = Field(default={})
    judges: list[str] = Field(default=[], validation_alias=AliasPath("models", "judge"))
    costs: CostsSection = CostsSection()
    label_studio: LabelStudioSection = LabelStudioSection()
    people: PeopleSection = PeopleSection()
    search: SearchSection = SearchSection()
    open: OpenSection = OpenSection()
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
        # A section [models.judge] is a model named "judge".
        return [] if isinstance(named, dict) else [named] if isinstance(named, str) else named

    @field_validator("judges")
    @classmethod
    def _named_once(cls, names: list[str]) -> list[str]:
        if not all(names) or len(set(names)) < len(names):
            raise ValueError("a judge is named twice, or has no name")
        return names

    @model_validator(mode="before")
    @classmethod
    def _choose_open_protocol(cls, table: Any) -> Any:
        """Set the protocol of open answers, because there is only one."""
        items, experts = table.get("items"), table.get("experts", {})
        is_open = isinstance(items, dict) and items.get("answers") == "open"
        if is_open and isinstance(experts, dict):
            return {**table, "experts": {"protocol": OPEN_PROTOCOL, **experts}}
        return table

    @model_validator(mode="after")
    def _is_open_throughout(self) -> Study:
        if self.is_open != (self.experts.protocol == OPEN_PROTOCOL):
            told = f'protocol {OPEN_PROTOCOL!r} and [items] answers = "open" require each other'
            raise ValueError(f"{told}; leave [experts] protocol out")
        others, told = (
            self.estimate.model_fields_set - {"level"},
            "does not apply to open answers; leave it out",
        )
        if self.is_open and others:
            raise ValueError(f"[estimate] {min(others)} {told}")
        if self.is_open and self.judges:
            raise ValueError(f"[models] judge {told}, or name the judge under [open]")
        if not self.is_open and self.open != OpenSection():
            raise ValueError(
                'the section [open] needs answers = "open" under [items]; set that, or remove [open]'
            )
        self._check_answer_forms()
        if self.open.splitter and self.open.splitter not in self.models:
            raise ValueError(f"[open] splitter: there is no model {self.open.splitter!r} under [models]")
        return self

    def _check_answer_forms(self) -> None:
        if self.is_open and "answer" in self.prompt.model_fields_set:
            raise ValueError("[prompt] answer: does not apply to open answers; leave it out")
        if self.prompt.answer == "probabilities" and self.prompt.pattern:
            raise ValueError(
                "[prompt] `pattern` finds a single option, so it cannot be used with answer = "
                '"probabilities"; leave out one of these settings'
            )
        for name, model in self.models.items():
            if self.is_open and model.answer:
                raise ValueError(f"[models.{name}] answer: does not apply to open answers; leave it out")
            others = {"samples": 1, "structured": "never", "logprobs": False}
            changed = [field for field, usual in others.items() if getattr(model, field) != usual]
            if self.form_of(name) == "probabilities" and changed:
                raise ValueError(
                    f'[models.{name}] {changed[0]} does not apply to answer = "probabilities"; leave one out'
                )

    def form_of(self, name: str) -> AnswerForm:
        """Return the form of a model's answers."""
        return self.models[name].answer or self.prompt.answer

    @property
    def is_open(self) -> bool:
        """Whether models answer with texts, which experts judge unit by unit."""
        return self.items.answers == "open"

    @property
    def helpers(self) -> frozenset[str]:
        """Entries of ``[models]`` that split or judge open answers, but do not answer items."""
        return frozenset({self.open.splitter, self.open.judge or ""} & self.models.keys())

    def path(self, name: str) -> Path:
        """Return the path of a file that study.toml names relative to its folder."""
        return Path(self.folder) / name

    def refuse_own_file(self, name: str) -> None:
        """Raise an error if a file must not be overwritten.

        Protected are all TOML files, the database, and the files that study.toml names.

        Raises
        ------
        BadInput
            If `name` is one of these files; the message names the file.
        """
        target = Path(name).resolve()
        texts = (text.removeprefix("sqlite:///") for text in _list_texts(self.model_dump(mode="json")))
        is_own = any(self.path(own).resolve() == target for own in texts if own and len(own) < _LONGEST_PATH)
        if os.path.isfile(target) and (is_own or target.suffix == ".toml"):  # noqa: PTH113  False for bad names
            raise BadInput(f"{name}: cannot be written: it is a file of the study; give another name")

    @property
    def store_url(self) -> str:
        """SQLAlchemy URL of the database; a path means an SQLite file."""
        store = self.study.store.removeprefix("sqlite:///")
        return store if "://" in store else f"sqlite:///{self.path(store)}"

    @property
    def has_server(self) -> bool:
        """Whether the database is on a server, which several machines share."""
        return "://" in self.study.store and not self.study.store.startswith("sqlite")

    @property
    def reference_file(self) -> Path | None:
        """Path of the experts' labels with which a panel is compared, or None."""
        return self.path(self.experts.reference) if self.experts.reference else None

    def model(self, name: str) -> ModelSection:
        """Return the settings of a model, with those of its endpoint filled in.

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


_LONGEST_PATH = 1000
"""Settings with this many characters or more are texts, and are not compared with paths."""


def _list_texts(value: Any) -> Iterator[str]:
    """Yield all texts in nested dictionaries and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _list_texts(inner)
