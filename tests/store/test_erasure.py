"""An erased item's text in stored prompts, on SQLite and PostgreSQL."""

from __future__ import annotations

import json

from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import Store, StoredCall
from oversight.harness.types import Item

TEXT = 'Zoë says  "it aches"\nsince Monday, and more'
OTHER = {"text": "another note", "answer": "red", "thinking": ""}


def make_call(key: str, prompt: str) -> StoredCall:
    request = json.dumps({"messages": [{"role": "user", "content": prompt}]})
    return StoredCall(key, request, "red", "stop", 7, 3, None, 1.0, "", "2026-11-01T00:00:00+00:00")


def test_texts_are_erased_from_prompts_however_they_were_cut_and_quoted(url: str, items: list[Item]) -> None:
    cut = " ".join(TEXT.split()[:5])
    examples = [{"text": cut, "answer": "red", "thinking": ""}, OTHER]
    shape = {"max_words": 5, "examples": []}
    whole = {"max_words": None, "examples": [{**OTHER, "text": TEXT}, OTHER]}
    workflow = json.dumps({"source": "", "shape": whole}, ensure_ascii=False)
    spec = make_spec("m/w", ModelSection(model="m"), workflow, None)
    plain = make_spec("m", ModelSection(model="m"), "$text", None)
    with Store(url) as store:
        store.content.add_items(items)
        store.searches.add_search("s1", {"shown": examples, "shape": shape}, {"test": ["i0"]})
        store.searches.add_search("s2", {"shown": [OTHER], "shape": shape}, {"test": ["i0"]})
        store.runs.add_run(spec)
        store.runs.add_run(plain)
        store.calls.write_calls(
            [make_call("a", f"Q: {TEXT}"), make_call("b", f"Q: {cut}"), make_call("c", "Q: x")]
        )
        with store.together(exclusive=True):
            before = store.withdrawals.find_remains([TEXT])
            found = store.withdrawals.erase_examples([TEXT])
            store.withdrawals.erase_calls([TEXT])
            assert store.withdrawals.find_remains([TEXT]) == {}
        assert before == {"call.request": 2, "run.spec": 1, "search.spec": 1}
        assert (found.searches, found.runs) == (("s1",), ("m/w",))
        specs = {search["id"]: search["spec"] for search in store.searches.read_searches()}
        assert specs["s1"] == {"shown": [OTHER], "shape": shape, "erased": True}
        assert "erased" not in specs["s2"]
        calls = store.calls.read_calls(["a", "b", "c"], failed=True)
        assert [(call.request != "", call.input_tokens) for call in calls.values()].count((False, 7)) == 2
