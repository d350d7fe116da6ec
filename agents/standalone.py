"""A workflow outside its search: the data file that ``oversight search export`` writes, and its answers."""

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
    """A workflow with the wording, the roles and the examples that it was chosen with.

    It is data. The source runs in the sandbox only, whatever a model wrote into it.

    Attributes
    ----------
    program
        What runs.
    options
        The options of every item; empty if items have options of their own.
    shape, roles
        How its calls are worded, and the roles that it may name.
    tier
        The sandbox that it was searched in.
    search
        Id of the search that it won.
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
            Naming the file and the first field that is wrong.
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
        """Write the workflow as the text of a file."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"

    def check_options(self, items: Sequence[Item]) -> None:
        """Refuse items whose options are not those that the workflow was chosen for.

        Raises
        ------
        BadInput
            Naming the first such item.
        """
        for item in items:
            if self.options and sorted(item.options) != sorted(self.options):
                raise BadInput(
                    f"item {item.id!r}: options: this workflow answers with {', '.join(self.options)} alone"
                )

    async def answer(self, items: Sequence[Item], model: Model, *, concurrency: int = 8) -> list[Prediction]:
        """Answer items, in order; an answer that names no option, or failed, says so in its status.

        Raises
        ------
        BadInput
            If the items have other options.
        FatalModelError
            If the endpoint refuses every request.
        ProgramRefused, SandboxError
            If the source is refused, or the sandbox does not work here.
        """
        self.check_options(items)
        broker = Broker(model, "", budget=Budget(None, None, None), concurrency=concurrency)
        async with open_sandbox(self.tier) as sandbox:
            bench = Workbench(broker, sandbox, self.roles, self.shape)
            return await answer_items(self.program, items, bench)
