"""Use a workflow without its search: read and write files of ``oversight search export``, answer items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from oversight.agents.programs import DEFAULT_FORMAT, PromptFormat, Role
from oversight.agents.runtime import Broker, Workbench, answer_items
from oversight.agents.sandbox import TIERS, open_sandbox
from oversight.harness import BadInput, DataError, check_names
from oversight.harness.llm import Budget, Model
from oversight.harness.output import read_text
from oversight.harness.types import Item, Prediction, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow with its prompt format, roles and examples, stored as data.

    Its source may have been written by a model, so it runs only in the sandbox.

    Attributes
    ----------
    program
        The program.
    options
        The options that every item has; empty if items have different options.
    shape, roles
        Prompt format of the workflow's calls, and the roles that it may assign.
    tier
        Name of the sandbox tier in which it runs.
    search
        Id of the search that it won; empty if there was none.

    Examples
    --------
    >>> from oversight.harness.types import Item, Program
    >>> program = Program("first", "async def forward(task): return task.options[0]")
    >>> winner = Workflow(program=program, options=("yes", "no"))
    >>> winner.check_options([Item("a", "Which?", ("x", "y"), (0, 1))])
    Traceback (most recent call last):
        ...
    oversight.harness.errors.BadInput: item 'a': options: this workflow can answer only with yes, no
    """

    program: Program
    options: tuple[str, ...] = ()
    shape: PromptFormat = DEFAULT_FORMAT
    roles: tuple[Role, ...] = ()
    tier: str = TIERS[0]
    search: str = ""

    def __post_init__(self) -> None:
        check_names("options", self.options)

    @classmethod
    def read(cls, file: str | Path) -> Workflow:
        """Read an exported workflow.

        Raises
        ------
        DataError
            If the file is not an exported workflow; the error names the file and the first invalid field.
        """
        path = Path(file)
        try:
            return TypeAdapter(cls).validate_json(read_text(path))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot be read: {error}", file=path) from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or None
            raise DataError(f"not an exported workflow: {first['msg']}", file=path, field=where) from None

    def write_json(self) -> str:
        """Return the workflow as JSON text, the content of an exported file."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def check_options(self, items: Sequence[Item]) -> None:
        """Refuse items whose options differ from those for which the workflow was chosen.

        Raises
        ------
        BadInput
            If an item has different options; the message names the first of these items.
        """
        for item in items:
            if self.options and sorted(item.options) != sorted(self.options):
                raise BadInput(
                    f"item {item.id!r}: options: this workflow can answer only with {', '.join(self.options)}"
                )

    async def answer(self, items: Sequence[Item], model: Model, *, concurrency: int = 8) -> list[Prediction]:
        """Answer items. Returns one prediction per item, in order. A prediction's status shows any failure.

        Raises
        ------
        BadInput
            If an item's options are not those of the workflow.
        FatalModelError
            If a call failed, and every retry would fail.
        ProgramRefused, SandboxError
            If the source is refused, or the sandbox does not work on this machine.
        """
        self.check_options(items)
        broker = Broker(model, "", budget=Budget(None, None, None), concurrency=concurrency)
        async with open_sandbox(self.tier) as sandbox:
            bench = Workbench(broker, sandbox, self.roles, self.shape)
            return await answer_items(self.program, items, bench)
