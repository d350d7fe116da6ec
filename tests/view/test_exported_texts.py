"""An export without texts contains no text anywhere; a failed export leaves no file."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from benchmarks._view_server import serve
from oversight.harness.config import ModelSection, read_study
from oversight.harness.llm import make_spec
from oversight.harness.store import Pulled, Queue, QueuedTask, Revision, Store
from oversight.harness.types import Answer, Item, Prediction, Question, Verdict
from oversight.harness.view import write_page, write_parts
from tests.agents.made_search import make_search
from tests.view.conftest import fill, lay_out, verdict_on

SAID = [
    {"from_name": "verdict", "value": {"choices": ["no"]}},
    {"from_name": "comment", "value": {"text": ["SECRET revised"]}},
    {"from_name": "remark", "value": {"text": "SECRET remark"}},
]


def test_no_text_of_an_item_an_expert_or_a_model_is_left(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    own = [("SECRET red", "SECRET blue"), ("SECRET a", "SECRET b", "SECRET c")]
    items = [
        Item(
            f"i{j}",
            f"SECRET text {j}",
            own[j % 2],
            tuple(range(len(own[j % 2]))),
            {"level": "hard", "more": "SECRET meta"},
        )
        for j in range(6)
    ]
    asked = [Question(f"q{j}", f"i{j}", 0, "ana", len(own[j % 2]), "partitioned", 1.0, 7) for j in range(6)]
    seen = Revision("ana", 1, "v", 1, "q0", False, 5, 5, False, SAID, "2026-03-01T09:30:00Z", 20.0)
    queue = Queue("ana", "m", "http://127.0.0.1:1", 3, "SECRET@example.org", 5, "2026")
    section = ModelSection(model="m", stop=["SECRET stop"], extra={"x": "SECRET extra"})
    spec = make_spec("m", section, "SECRET template $text", None)
    spec = spec.model_copy(update={"system": "SECRET system"})
    with Store(study.store_url) as store:
        store.content.add_items(items)
        store.content.add_questions(asked)
        store.content.add_answers(Answer(q, "ana", Verdict.NO, "test", "SECRET comment") for q in asked)
        store.labelling.save_queue(queue)
        store.labelling.add_tasks([QueuedTask(q.id, "ana", j, "d", j) for j, q in enumerate(asked)])
        pulled = Pulled(
            task_ids=frozenset(range(6)),
            question_ids=frozenset(),
            replies=(),
            quarantine=(),
            revisions=(seen,),
        )
        store.labelling.apply_look(queue, pulled, store.content.replies)
        store.runs.add_run(spec)
        store.runs.store_predictions([(spec.id, Prediction(f"i{j}", 0, raw="SECRET raw")) for j in range(6)])
        whole = write_page(study, store, None, tmp_path / "whole.html").read_text()
        bare = write_page(study, store, None, tmp_path / "bare.html", texts=False).read_text()
    for word in ("text", "red", "c", "revised", "remark", "system", "stop", "extra", "comment", "raw"):
        assert f"SECRET {word}" in whole
    assert "SECRET@" not in whole
    assert [line for line in bare.splitlines() if "SECRET" in line] == []


def test_options_of_a_search_are_texts_where_items_have_their_own(tmp_path: Path) -> None:
    part = {
        "item": {"options": ["SECRET a", "SECRET b"]},
        "answer": {"option": "SECRET a", "experts": [{"option": "SECRET a", "verdict": "no"}]},
        "settings": {"task": "SECRET task"},
        "refused": ["SECRET proposal"],
        "rows": [{"task": 7}],
    }
    for classes, left in (
        ([], ["option 1", "option 2"]),
        (["SECRET a", "SECRET b"], ["SECRET a", "SECRET b"]),
    ):
        parts: dict[str, Any] = {"frame": {"classes": []}, "candidate-item": part}
        if classes:
            parts["frame"] = {"classes": classes}
        told = write_parts(parts, [], tmp_path / "page.html", texts=False).read_text()
        assert f'"options":["{left[0]}","{left[1]}"]' in told
        assert ("SECRET a" in told) == bool(classes)
        assert "SECRET task" not in told
        assert "SECRET proposal" not in told
        assert '"rows":[{"task":7}]' in told


def test_names_of_strata_are_left_out_with_the_texts(tmp_path: Path) -> None:
    strata = [{"stratum": "SECRET note", "items": 3}, {"stratum": "SECRET other", "items": 4}]
    parts = {"frame": {"classes": ["a", "b"]}, "strata?column=note&model=m": {"strata": strata}}
    told = write_parts(parts, [], tmp_path / "page.html", texts=False).read_text()
    assert "SECRET" not in told
    assert '"strata":[{"stratum":"stratum 1","items":3},{"stratum":"stratum 2","items":4}]' in told
    assert "SECRET other" in write_parts(parts, [], tmp_path / "page.html").read_text()


def test_sentences_do_not_name_strata_without_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    wards = ['SECRET "a"', "SECRET 'b'", "SECRET c"]
    rows = [{"id": f"i{j}", "text": f"number {j}.", "ward": wards[j % 3]} for j in range(60)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.jsonl"\nclasses = ["x", "y"]\nmeta = ["ward"]\n'
        '[estimate]\nstrata = "ward"\n'
    )
    Path("experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    lines = [f"i{j},{'xy'[j % 2]}" for j in range(60)]
    Path("key.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    Path("m.csv").write_text("\n".join(["id,prediction", *lines]) + "\n")
    oversight("predictions", "import", "m.csv", "--model", "m")
    oversight("label", "route")
    oversight("label", "simulate", "--key", "key.csv")
    oversight("report")
    assert "stratum 'SECRET c', K = 2" in Path("report.html").read_text()
    oversight("report", "--no-texts")
    told = Path("report.html").read_text()
    assert "stratum '…', K = 2" in told
    assert "SECRET" not in told


def test_report_does_not_contain_the_seed(tmp_path: Path, oversight: Callable[..., Any]) -> None:
    seed = 2**62 + 607
    fill(lay_out(tmp_path))
    file = tmp_path / "study.toml"
    file.write_text(file.read_text().replace("seed = 3", f"seed = {seed}"))
    oversight("report", "--study", file, tmp_path / "report.html")
    assert str(seed) not in (tmp_path / "report.html").read_text()
    (tmp_path / "search").mkdir()
    study = make_search(tmp_path / "search", 6)
    with Store(study.store_url) as store:
        written = write_page(study, store, None, tmp_path / "search.html")
    assert '"seed"' not in written.read_text()


def test_all_parts_of_a_report_show_the_same_moment(tmp_path: Path, oversight: Callable[..., Any]) -> None:
    study = lay_out(tmp_path)
    fill(study, answered=10)
    ended = Event()

    def answer_on() -> None:
        with Store(study.store_url) as store:
            open_questions = store.content.read_questions()[10:]
            while not ended.wait(0.03) and open_questions:
                q = open_questions.pop()
                store.content.add_answers([Answer(q, q.expert, verdict_on(q), "test")])

    answering = Thread(target=answer_on)
    answering.start()
    oversight("report", "--study", tmp_path / "study.toml", tmp_path / "report.html")
    ended.set()
    answering.join()
    told = (tmp_path / "report.html").read_text()
    data = json.loads(
        told.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    )
    parts = data["parts"]
    counts = {
        "frame": parts["frame"]["rows"]["answer"],
        "overview": parts["overview"]["questions"]["answered"],
        "collection": parts["collection"]["answered"],
        "items": sum(q["verdict"] is not None for item in data["items"] for q in item["questions"]),
    }
    assert len({*counts.values()}) == 1, counts


def test_a_failed_export_is_reported_and_leaves_nothing(
    tmp_path: Path, oversight: Callable[..., Any]
) -> None:
    fill(lay_out(tmp_path))
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "file").write_text("kept")
    os.mkfifo(tmp_path / "pipe.html")
    before = sorted(path.name for path in tmp_path.iterdir())
    for out in ("folder.html", "pipe.html", "file/page.html", f"{'n' * 300}.html"):
        found = oversight("report", "--study", tmp_path / "study.toml", tmp_path / out, code=2)
        assert "cannot be written" in found["error"]
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "pipe.html").is_fifo()


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of this kind")
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    script = (
        "import sys; from oversight.harness.platform import write_whole; "
        "write_whole('x' * 100_000, sys.argv[1])"
    )
    (tmp_path / "page.html").write_text("the one before")
    done = subprocess.run(
        [sys.executable, "-c", script, "page.html"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
        check=False,
    )
    assert b"FullDisk: page.html: cannot be written: File too large" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "the one before"


def test_keys_are_neither_served_nor_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_KEY", "sk-odd-key-123456")
    key = '[models.x]\nmodel = "x"\napi_key_env = "ODD_KEY"\n'
    lay_out(tmp_path)
    with (tmp_path / "study.toml").open("a") as stream:
        stream.write(key)
    study = read_study(tmp_path / "study.toml")
    fill(study, "says sk-odd-key-{}23456".format)
    with Store(study.store_url) as store:
        assert "sk-odd-key-123456" in {item.text.removeprefix("says ") for item in store.content.read_items()}
        page = write_page(study, store, None, tmp_path / "page.html").read_text()
    assert "sk-odd-key-023456" in page
    assert "sk-odd-key-123456" not in page
    with serve(tmp_path) as served:
        assert b"sk-odd-key-123456" not in served.ask("/api/items")[1]
        assert "sk-odd-key-123456" not in str(served.read("item", id="i1"))
