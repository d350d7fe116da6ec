"""A workflow outside any search: a file that ``oversight search export`` wrote answers questions with it.

Its calls are worded as they were when it was chosen. The source is data of that file and runs in the sandbox
that it was searched in.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from oversight.agents.programs import Example, PromptFormat, Role
from oversight.agents.runtime import Broker, Workbench, answer_items
from oversight.agents.sandbox import TIERS, open_sandbox
from oversight.harness import BadInput, OversightError, check_mapping, check_names
from oversight.harness.config import ModelSection
from oversight.harness.datasets import ItemMapping, read_items, read_options, read_rows
from oversight.harness.llm import Budget, Model, make_model
from oversight.harness.output import make_printable, say
from oversight.harness.types import Item, Prediction, Program


class Workflow:
    """A workflow with the wording, the experts and the examples of the study it comes from.

    Parameters
    ----------
    program
        Its source, which runs in the sandbox.
    setting
        ``shape`` and ``roles`` of the study, ``options``: those of every question, or none if each question
        has its own, and ``tier``: the sandbox's, by default the first.
    """

    def __init__(self, program: str, setting: Mapping[str, Any]) -> None:
        check_mapping("setting", setting, "name to value")
        check_names("setting['options']", setting["options"])
        given: object = program  # files that older versions exported may hold a function
        if not isinstance(given, str):
            raise BadInput("program must be the source of a workflow as text: export the winner again")
        self._program = program
        shape = setting["shape"]
        self._shape = PromptFormat(**{**shape, "examples": tuple(Example(**e) for e in shape["examples"])})
        self._roles = tuple(Role(**role) for role in setting["roles"])
        self._tier = str(setting.get("tier", TIERS[0]))  # files of before do not name one
        self.options = tuple(setting["options"])

    async def answer(
        self, questions: Sequence[Item], model: Model, *, concurrency: int = 8
    ) -> list[Prediction]:
        """Answer questions, in order; what names no option or failed says so in its status.

        Raises
        ------
        FatalModelError
            If the endpoint refuses in a way that no repetition mends.
        ProgramRefused, SandboxError
            If the source is refused, or the sandbox cannot be had here.
        """
        broker = Broker(model, "", budget=Budget(None, None, None), concurrency=concurrency)
        async with open_sandbox(self._tier) as sandbox:
            bench = Workbench(broker, sandbox, self._roles, self._shape)
            return await answer_items(Program("workflow", self._program), questions, bench)

    def main(self) -> None:
        """Answer the questions of a file, from the command line; one JSON object a line comes out."""
        parser = argparse.ArgumentParser(description="Answer questions with this workflow.")
        columns = "id and text" if self.options else "id, text and options"
        parser.add_argument("questions", help=f"CSV, JSON Lines or Parquet with {columns}")
        parser.add_argument("--model", required=True, help="name of the model at the endpoint")
        parser.add_argument("--endpoint", default=ModelSection.model_fields["endpoint"].default)
        parser.add_argument("--key-env", default="OPENAI_API_KEY", help="environment variable with the key")
        args = parser.parse_args()
        if not (args.model and args.endpoint and args.key_env):
            parser.error("--model, --endpoint and --key-env must not be empty")
        try:
            questions = self._read(args.questions)
            settings = ModelSection(model=args.model, endpoint=args.endpoint, api_key_env=args.key_env)
            answers = asyncio.run(self._ask(questions, settings))
            for item, found in zip(questions, answers, strict=True):
                option = None if found.option is None else item.options[found.option]
                line = {"id": item.id, "answer": option, "status": found.status, "reason": found.reason}
                sys.stdout.write(make_printable(json.dumps(line, ensure_ascii=False)) + "\n")
            sys.stdout.flush()
        except OversightError as error:
            say(str(error))
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            say("stopped; no answers were written")
            sys.exit(130)
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            say(f"the answers cannot be written: {error}")
            os._exit(2)  # to end in order would write what is left once more

    def _read(self, file: str) -> list[Item]:
        """The questions of a file; other options than the workflow has for all of them are refused."""
        for row in read_rows(file) if self.options else ():
            if "options" not in row.fields:
                break
            if sorted(read_options(row, ItemMapping())) != sorted(self.options):
                raise row.error("options", f"this workflow answers with {', '.join(self.options)} alone")
        return read_items(file, classes=self.options, shuffle=False)

    async def _ask(self, questions: Sequence[Item], settings: ModelSection) -> list[Prediction]:
        model = make_model(settings)
        try:
            await model.check()
            return await self.answer(questions, model, concurrency=settings.concurrency)
        finally:
            await model.close()
