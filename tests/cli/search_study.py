"""A study whose model is better when its instruction tells it to look for the detail; for searches."""

from __future__ import annotations

import json
import re
from pathlib import Path

from oversight.harness.cli.main import main
from tests.fakes.openai_server import Reply

CLASSES = ("red", "green", "blue", "white")
START = '''\
"""One call."""

TEMPERATURE = 0.5
INSTRUCTION = "Answer at once."


async def forward(task):
    thinking, answer = await task.ask(["thinking", "answer"], [task], INSTRUCTION, temperature=TEMPERATURE)
    return answer
'''
STUDY = """\
[study]
name = "Colours"
seed = 3
{store}[items]
file = "items.csv"
classes = {classes}
[models.m]
endpoint = "{url}"
model = "m"
concurrency = {concurrency}
tries = 1
[search]
start = "{folder}/start.py"
library = ["{folder}/start.py"]
candidates = 4
in_flight = {in_flight}
rungs = [6, 14]
keep = [0.5]
{more}
"""


def truth(j: int) -> int:
    return (7 * j + j // 5) % 4


def answer(prompt: str, _: int) -> Reply:
    """Right in most cases, and more often if the instruction tells it to look for the detail."""
    j = int(re.findall(r"number (\d+)\.", prompt)[-1])
    right = j % 5 < (4 if "detail" in prompt else 3)
    letter = re.findall(rf"\((\w)\) {CLASSES[truth(j) if right else (truth(j) + 1) % 4]}", prompt)[-1]
    return Reply(json.dumps({"thinking": "well", "answer": letter}))


def set_search(study: Path, **settings: object) -> None:
    """Set ``[search]`` settings of a study file, replacing what it has."""
    head, section = study.read_text(encoding="utf-8").split("[search]\n")
    kept = [line for line in section.splitlines() if line.split(" = ")[0] not in settings]
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    study.write_text("\n".join([f"{head}[search]", *lines, *kept, ""]), encoding="utf-8")


def lay_out(
    folder: Path,
    url: str,
    concurrency: int = 1,
    more: str = "",
    n: int = 44,
    in_flight: int = 2,
    store: str = "",
    *,
    route: bool = True,
) -> None:
    study = STUDY.format(
        classes=json.dumps(CLASSES),
        url=url,
        concurrency=concurrency,
        folder=folder,
        more=more,
        in_flight=in_flight,
        store=f'store = "{store}"\n' if store else "",
    )
    (folder / "study.toml").write_text(study)
    (folder / "start.py").write_text(START)
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    )
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(n)))
    (folder / "key.csv").write_text("id,label\n" + "".join(f"i{j},{CLASSES[truth(j)]}\n" for j in range(n)))
    if not route:
        return
    for words in (("label", "route"), ("label", "simulate", "--key", str(folder / "key.csv"))):
        assert main([*words, "--study", str(folder / "study.toml"), "--json"]) == 0
