"""A study in which every text that others wrote is one that would like to be more than a text."""

from __future__ import annotations

import json
from pathlib import Path

from oversight.harness.config import ModelSection, Study, read_study
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Prediction, PredictionStatus, Verdict
from oversight.protocols.routing import Partitioned, one_expert_per_class

HOSTILE = (
    "<script>window.hit=1</script>",
    "</script><script>window.hit=2</script>",
    "</title></style></textarea><script>window.hit=3</script>",
    "<img src=x onerror=window.hit=4>",
    '"><svg onload=window.hit=5>',
    "' onfocus='window.hit=6' autofocus='",
    "javascript:window.hit=7",
    "data:text/html,<script>window.hit=8</script>",
    "<iframe srcdoc='<script>parent.hit=9</script>'></iframe>",
    "<a href=javascript:alert(10)>click</a>",
    "<!--<script>",
    "]]><![CDATA[<script>alert(12)</script>",
    "&lt;script&gt;alert(13)&lt;/script&gt;",
    "{{7*7}}",
    "${alert(15)}",
    "`;alert(16);`",
    "';alert(17);//",
    '\\";alert(18);//',
    "\u2028alert(19)\u2029",
    "\u202egnp.exe\u202c right to left",
    "\u2066isolated\u2069 \u200fmarks\u200e",
    "שלום עולם مرحبا",
    "=cmd()|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1:A9)",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "🧑‍🚀👩‍👩‍👧‍👦🇺🇳 e\u0301\u0301\u0301\u0301",
    "%E0%A4%A %00 %23#/items?model=x&y",
    "\x85next\x0bline\x0c \t tab",
    "C:\\path\\../../etc/passwd",
    "null",
    "\ufeffmark \ufffd \ufffe",
)
MODELS = ("__proto__", "constructor", "toString", *(" ".join(HOSTILE[k::5]) for k in range(5)))
"""Every text again; a study of as many models as texts takes its time."""
LONG = "w" * 100_000
COLUMNS = ("__proto__", "<img src=y onerror=window.hit=20>", "toString")
_N = 2 * len(HOSTILE)


def write_hostile(folder: Path) -> Study:
    """Lay the study out: each text as item, option, class, expert, model, comment, stratum and raw reply."""
    (folder / "study.toml").write_text(
        f"[study]\nname = {json.dumps(HOSTILE[3])}\nseed = 3\n[items]\nfile = 'items.csv'\n"
        f"classes = {json.dumps(HOSTILE, ensure_ascii=False)}\n"
        f"meta = {json.dumps(COLUMNS, ensure_ascii=False)}\n"
    )
    study = read_study(folder / "study.toml")
    order = tuple(range(len(HOSTILE)))
    items = [
        Item(name_of(j), f"{text_of(j)} {LONG}" if j == 5 else text_of(j), HOSTILE, order, _strata(j))
        for j in range(_N)
    ]
    with Store(study.store_url) as store:
        store.content.add_items(items)
        store.content.add_questions(Partitioned(one_expert_per_class(HOSTILE), seed=1).route(items))
        asked = store.content.read_questions()
        store.content.add_answers(
            Answer(q, q.expert, Verdict.YES if j % 2 else Verdict.NO, "test", text_of(j))
            for j, q in enumerate(asked)
        )
        for place, model in enumerate(MODELS):
            spec = make_spec(model, ModelSection(model=model), "$text", None, model)
            store.runs.add_run(spec)
            store.runs.store_predictions([(spec.id, _predict(j, place)) for j in range(_N)])
    return study


def text_of(j: int) -> str:
    return HOSTILE[j % len(HOSTILE)]


def name_of(j: int) -> str:
    return f"{j}{text_of(j)}"


def _strata(j: int) -> dict[str, str]:
    return {column: text_of(j * place) for place, column in enumerate(COLUMNS, start=1)}


def _predict(j: int, place: int) -> Prediction:
    if (j + place) % 9 == 1:
        return Prediction(name_of(j), None, PredictionStatus.UNREADABLE, text_of(j), raw=text_of(j))
    return Prediction(name_of(j), (j + place % 3) % len(HOSTILE), raw=text_of(j))
