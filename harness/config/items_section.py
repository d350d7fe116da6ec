"""Where a study's items come from: ``[items]`` of study.toml."""

from __future__ import annotations

from pydantic import Field, model_validator

from oversight.harness.config.models import Section


class ItemsSection(Section):
    """Where the items come from: a file, a public benchmark (a preset) or a data set on the hub.

    Attributes
    ----------
    file
        File with the items (CSV, JSON Lines, Parquet, Excel), or with a preset a local copy of its file.
    preset
        Name of a public benchmark, which settles its own columns, options and split.
    hub
        Name of a data set on the Hugging Face hub, in place of a file.
    hub_config
        Configuration of that data set, or of a preset's, where it has several.
    split
        Split of that data set; a preset has its own.
    revision
        Branch, tag or commit of that data set.
    limit
        Take the first so many items only; unset, all are taken.
    id
        Column with a unique id; where the default is no column, the id is a hash of text and options.
    text
        Column with what is asked.
    classes
        The same options for every item, each a class with its expert; none where items bring their own.
    options
        Without classes: a column that holds a list of options, or several columns with one option each.
    meta
        Columns to keep with the items, for estimates by stratum.
    cluster
        Column whose equal values make items depend on each other, such as the patient that images are of;
        estimates, comparisons and panels then take clusters as the independent units. ``"@text"`` is no
        column: it joins items with the same text and the same options under different ids.
    shuffle
        Whether options are shown in a random order, drawn for each item and stored with it.
    skip_bad
        Whether wrong rows are left out and counted, instead of refusing the file.
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
