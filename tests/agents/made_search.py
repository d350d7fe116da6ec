"""Write a study with a made-up search of any number of candidates into a database, without model calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from oversight.harness import IntArray
from oversight.harness.config import SearchSection, Study, read_study
from oversight.harness.store import Store
from oversight.harness.types import (
    Answer,
    Candidate,
    Item,
    Prediction,
    PredictionStatus,
    Program,
    Question,
    Verdict,
)

SEARCH = "made"
HOSTILE = '<img src=x onerror="window.hit=1"></script><script>window.hit=1</script>\u202e${`'
_CLASSES = ("red", "green", "blue", "white")
_STUDY = """\
[study]
name = "Made"
seed = 3
{store}
[items]
file = "items.csv"
classes = ["red", "green", "blue", "white"]
[models.m]
endpoint = "http://127.0.0.1:9/v1"
model = "m"
[search]
rungs = {rungs}
"""


SPLITS = {"feedback": 20, "select": 120, "confirm": 60, "test": 60}
"""Number of items in each split."""
RUNGS, ENDS = (30, 60, 120), (0.5, 0.25, 0.25)
"""Numbers of selection items after which candidates stop, and the share of candidates that stop at each."""


def source_of(j: int) -> str:
    """Return the source of the j-th candidate: one call whose instruction contains its number."""
    return (
        f'INSTRUCTION = "Answer {j}."\n\n\nasync def forward(task):\n'
        '    thinking, answer = await task.ask(["thinking", "answer"], [task], INSTRUCTION)\n'
        "    return answer\n"
    )


def make_search(
    folder: Path,
    candidates: int,
    *,
    winner: bool = True,
    hostile: bool = False,
    store: str = "",
) -> Study:
    """Create a study with expert answers and a search, in which a quarter of the proposals finished the race.

    `hostile` puts HTML and script code into all texts, to test that a page escapes them.
    """
    rng = np.random.default_rng(1)
    (folder / "study.toml").write_text(_STUDY.format(store=store and f'store = "{store}"', rungs=list(RUNGS)))
    sizes = sum(SPLITS.values())
    text = HOSTILE if hostile else "number"
    truth = rng.integers(4, size=sizes)
    items = [Item(f"i{i}", f"{text} {i}", _CLASSES, (0, 1, 2, 3)) for i in range(sizes)]
    study = read_study(folder / "study.toml")
    with Store(study.store_url) as opened:
        opened.content.add_items(items)
        asked = rng.integers(4, size=sizes)
        questions = [
            Question(f"q{i}", f"i{i}", int(k), "e", 4, "partitioned", 0.25, 0) for i, k in enumerate(asked)
        ]
        opened.content.add_questions(questions)
        opened.content.add_answers(
            Answer(q, "e", Verdict.YES if truth[i] == q.option else Verdict.NO, "made")
            for i, q in enumerate(questions)
        )
        _add_search(opened, study, items, truth, candidates, text if hostile else "")
        if winner:
            best = [Program("", source_of(j)).id for j in range(3)]
            opened.searches.add_event(SEARCH, "winner", {"candidate": best[0], "finalists": best})
    return study


def _add_search(
    store: Store,
    study: Study,
    items: list[Item],
    truth: IntArray,
    number: int,
    hostile: str,
) -> None:
    rng = np.random.default_rng(2)
    ids, start, splits = [item.id for item in items], 0, {}
    for name, size in SPLITS.items():
        splits[name] = ids[start : start + size]
        start += size
    section = SearchSection(candidates=number - 4, rungs=[*RUNGS])
    spec = {
        "section": section.model_dump(exclude={"usd", "tokens"}),
        "seed": 3,
        "model": study.model("m").model_dump(exclude={"shared_limits"}),
        "programs": [],
        "roles": [],
        "shape": {},
        "shown": [],
    }
    store.searches.add_search(SEARCH, spec, splits)
    known: list[str] = []
    for j in range(number):
        program = Program(f"c{j}{hostile}", source_of(j), f"thought {hostile}")
        parents = (known[int(rng.integers(max(0, j - 40), j))],) if j >= 4 else ()
        note = f"INSTRUCTION = 'Answer {j}.' {hostile}"
        store.searches.add_candidate(SEARCH, Candidate(program, j - 4, "mutate", parents, note))
        known.append(program.id)
        reach = int(rng.choice(RUNGS, p=ENDS)) if j >= 4 else SPLITS["select"]
        shown = SPLITS["feedback"]
        fresh = range(shown + SPLITS["select"], len(ids))  # only finalists answer these items
        asked = [*range(shown, shown + reach), *(fresh if j < 3 else ()), *(range(shown) if j < 9 else ())]
        right = rng.random(len(asked)) < rng.normal(0.6, 0.08)
        store.searches.add_answers(
            SEARCH,
            program.id,
            0,
            [
                Prediction(
                    ids[i],
                    None if (i + j) % 29 == 0 else int(truth[i] if ok else (truth[i] + 1) % 4),
                    PredictionStatus.UNREADABLE if (i + j) % 29 == 0 else PredictionStatus.OK,
                    f"no letter {hostile}" if (i + j) % 29 == 0 else "",
                    raw=hostile or "A",
                    input_tokens=int(rng.integers(50, 150)),
                    output_tokens=10,
                )
                for i, ok in zip(asked, right, strict=True)
            ],
        )
        if j >= 4:
            store.searches.add_event(
                SEARCH, f"slot/{j - 4}", {"candidate": program.id, "op": "mutate", "tokens": 5}
            )
    store.searches.add_event(
        SEARCH, f"slot/{number}", {"refused": f"it loops {hostile}", "op": "mutate", "tokens": 5}
    )
