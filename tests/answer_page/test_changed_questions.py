"""An answer to a question that was changed after it was shown is refused, not stored for the new text."""

from __future__ import annotations

from pathlib import Path

import pytest

from oversight.harness.store import Store
from tests.answer_page.conftest import OPTIONS, N, call, draw, serve


def correct(folder: Path, item: str, text: str) -> None:
    """Change an item's text in the file and in the study, withdrawing its answers."""
    texts = [text if f"i{j}" == item else f"note {j}" for j in range(N)]
    rows = "".join(f'i{j},{line},"{"|".join(OPTIONS)}"\n' for j, line in enumerate(texts))
    (folder / "items.csv").write_text(f"id,text,options\n{rows}", encoding="utf-8")
    call(folder, "items", "correct", item, "--answers", "withdraw", "--reason", "a typing error")


@pytest.mark.parametrize("panel", [False, True])
def test_an_answer_to_the_former_text_is_refused(tmp_path: Path, *, panel: bool) -> None:
    study = draw(tmp_path, panel=panel)
    with serve(tmp_path) as desk:
        own = desk.begin("ana")
        first, second = desk.state(own)["questions"][:2]
        with Store(study.store_url) as store:
            item = next(i.id for i in store.content.read_items() if i.text == first["text"])
        correct(tmp_path, item, "another note")
        value = "0" if panel else "yes"
        status, told = desk.answer(own, value, id=first["id"], mark=first["mark"])
        assert (status, told["outcome"]) == (409, "reworded")
        assert told["error"] == "this question was changed after you read it; that answer was not stored"
        assert told["state"]["done"] == 0
        (new,) = [q for q in told["state"]["questions"] if q["id"] == first["id"]]
        assert (new["text"], new["mark"] != first["mark"]) == ("another note", True)
        assert desk.answer(own, value, id=second["id"], mark=second["mark"])[0] == 200
        key = "a" * 32
        assert desk.answer(own, value, key, id=new["id"], mark=new["mark"])[0] == 200
        # the correction withdraws the answer, but sending it again still counts as a repetition
        correct(tmp_path, item, "yet another note")
        assert desk.answer(own, value, key, id=new["id"], mark=new["mark"])[1]["outcome"] == "repeated"


def test_a_mark_must_be_one(tmp_path: Path) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        status, told = desk.answer(desk.begin("ana"), mark="x" * 16)
        assert (status, told["error"]) == (400, "mark is none")
