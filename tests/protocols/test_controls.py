"""Gold, repeats and second experts in the queues: drawn, handed out, read back, and kept apart."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import BadInput, DataError
from oversight.harness.analysis import read_quality
from oversight.harness.config import Study, read_study
from oversight.harness.store import SOURCE, ControlKind, Pulled, Queue, Response, Store
from oversight.protocols.collect import measure_progress
from oversight.protocols.collect.label_studio.campaign import check_experts, plan_tasks
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet
from oversight.protocols.collect.progress.queue_progress import share_queues
from oversight.protocols.routing import read_pending, read_roster
from oversight.protocols.study_labels import export_open, import_answers, route_questions, simulate_answers

CLASSES = ("red", "green", "blue")
N = 60
ALL_KINDS = 'gold = "gold.csv"\ngold_share = 0.2\nrepeat = 0.3\noverlap = 0.3\n'


def lay_out(folder: Path, extra: str = ALL_KINDS, *, experts: int = 2, more: str = "") -> Study:
    """Lay out a study of three classes, each with `experts` experts, and gold items of the same kind."""
    folder.mkdir(exist_ok=True)
    rows = "".join(f"i{j},note {j}.\n" for j in range(N))
    (folder / "items.csv").write_text("id,text\n" + rows)
    key = "".join(f"i{j},{CLASSES[j % 3]}\n" for j in range(N))
    (folder / "key.csv").write_text("id,label\n" + key)
    gold = "".join(f"note {j}.,{CLASSES[j % 3]}\n" for j in range(100, 130))
    (folder / "gold.csv").write_text("text,answer\n" + gold)
    (folder / "experts.toml").write_text(
        "".join(
            f'[[expert]]\nname = "{c}{e}"\nclasses = ["{c}"]\n{more}' for c in CLASSES for e in range(experts)
        )
    )
    (folder / "study.toml").write_text(
        f'[study]\nname = "s"\n[items]\nfile = "items.csv"\nclasses = {list(CLASSES)}\n[experts]\n{extra}'
    )
    return read_study(folder / "study.toml")


def read_rows(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [row for path in paths for row in csv.DictReader(path.read_text().splitlines())]


def fill_in(path: Path, value: str) -> None:
    rows = read_rows([path])
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "answer": value} for row in rows)


def test_controls_do_not_change_the_study_draw(tmp_path: Path) -> None:
    plain, woven = lay_out(tmp_path / "plain", ""), lay_out(tmp_path / "woven")
    route_questions(plain)
    drawn = route_questions(woven)
    assert drawn.controls is not None
    assert drawn.controls.drawn == drawn.controls.wanted
    assert drawn.controls.drawn["gold"] == 12
    assert min(drawn.controls.drawn.values()) > 5
    assert drawn.new == drawn.asked.total() == N + drawn.controls.drawn.total()
    with Store(plain.store_url) as one, Store(woven.store_url) as two:
        first, second = one.content.read_questions(), two.content.read_questions()
        assert [replace(q, id="", place=0) for q in first] == [replace(q, id="", place=0) for q in second]
        assert not {q.id for q in first} & {q.id for q in second}
        before = two.controls.read_controls()
    again = route_questions(woven)
    assert (again.new, again.asked) == (0, drawn.asked)
    with Store(woven.store_url) as store:
        assert store.controls.read_controls() == before


def test_each_kind_of_control_goes_to_the_right_expert(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    with Store(study.store_url) as store:
        asked = {q.id: q for q in store.content.read_questions()}
        controls, gold = store.controls.read_controls(), store.controls.read_gold_items()
    about_truth = 0
    for c in controls:
        options = gold[c.item_id].item.options if c.kind is ControlKind.GOLD else CLASSES
        assert c.expert[:-1] == options[c.option]
        if c.kind is ControlKind.GOLD:
            about_truth += gold[c.item_id].truth == c.option
            continue
        first = asked[c.original]
        assert (c.item_id, c.option) == (first.item_id, first.option)
        assert (c.expert == first.expert) is (c.kind is ControlKind.REPEAT)
    assert about_truth == 6
    put = [(c.item_id, c.expert) for c in controls if c.kind is not ControlKind.REPEAT]
    put += [(q.item_id, q.expert) for q in asked.values()]
    assert len(set(put)) == len(put)


def test_files_do_not_reveal_control_questions(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    paths, left = export_open(study, tmp_path / "out")
    rows = read_rows(paths)
    with Store(study.store_url) as store:
        controls = {c.id: c for c in store.controls.read_controls()}
    assert left == len(rows) == N + len(controls)
    assert all(re.fullmatch(r"q-[0-9a-f]{16}", row["question_id"]) for row in rows)
    for row in rows:
        row["question_id"] = row["question_id"].removeprefix("q-")
    assert all(re.fullmatch(r"note \d+\.", row["text"]) for row in rows)
    assert all(row["question"].startswith("Is the answer: ") and not row["comment"] for row in rows)
    assert "gold" not in "".join(path.read_text() for path in paths)
    at = [sum(row["question_id"] in controls for row in part) for part in (rows[::2], rows[1::2])]
    assert min(at) > 0.3 * len(controls)
    places = {row["question_id"]: place for place, row in enumerate(rows)}
    repeats = [c for c in controls.values() if c.kind is ControlKind.REPEAT]
    assert all(places[c.original] < places[c.id] for c in repeats)
    gaps = {places[c.id] - places[c.original] for c in repeats}
    assert len(gaps) > 3


def test_control_answers_are_stored_apart_and_not_estimated(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    paths, left = export_open(study, tmp_path / "out")
    for path in paths:
        fill_in(path, "no")
    paths[-1].write_text(paths[-1].read_text().rsplit(",no,", 1)[0] + ",perhaps,\n")
    with pytest.raises(DataError, match="must be yes, no, unsure or skip"):
        import_answers(study, paths)
    with Store(study.store_url) as store:
        assert store.replies(panel=False).read_replies() == {}
    fill_in(paths[-1], "no")
    assert import_answers(study, paths) == (left, left)
    assert import_answers(study, paths) == (left, 0)
    with Store(study.store_url) as store:
        labels = store.columns.read_labels(store.columns.read_index())
        assert (len(labels), len(labels.drawn or ())) == (N, N)
        assert len(store.controls.replies.read_replies()) == left - N
        progress = measure_progress(study, store)
        assert sum(p.asked for p in progress.values()) == sum(p.answered for p in progress.values()) == left
        assert sum(map(sum, (p.values() for p in store.replies(panel=False).count_arrivals(7)))) == left
    assert export_open(study, tmp_path / "later") == ([], 0)
    fill_in(paths[0], "yes")
    with pytest.raises(BadInput, match="a question has one answer"):
        import_answers(study, paths)


def test_simulated_experts_answer_all_and_know_the_gold(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    drawn = route_questions(study)
    assert simulate_answers(study, str(tmp_path / "key.csv")) == drawn.asked.total()
    assert simulate_answers(study, str(tmp_path / "key.csv")) == 0


def test_a_labelling_server_gets_and_returns_them_like_all_others(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    route_questions(study)
    with Store(study.store_url) as store:
        asked, items = read_pending(study, store), store.read_shown_items()
        check_experts(asked, read_roster(tmp_path / "experts.toml"), asks_on=False)
        sheet = TaskSheet.of(study)
        data = {a.id: sheet.data(a, items[a.item_id]) for a in asked}
        assert len({tuple(sent) for sent in data.values()}) == 1
        tasks = plan_tasks(asked, data, [])
        assert plan_tasks(asked, data, tasks) == []
        mine = [t for t in tasks if t.expert == "red0"]
        store.labelling.save_queue(Queue("red0", "m"))
        store.labelling.add_tasks(mine)
        replies = tuple(Response(t.question_id, "red0", "no", SOURCE) for t in mine)
        ids = frozenset(t.question_id for t in mine)
        for said in (replies, replies, replies[1:]):
            pulled = Pulled(frozenset(), ids, said, (), ())
            store.labelling.apply_look(Queue("red0", "m"), pulled, store.replies(panel=False))
            found = store.replies(panel=False).read_replies()
            assert {r.id for r in said} == found.keys()
        own = {c.id for c in store.controls.read_controls()} & ids
        assert store.controls.replies.read_replies().keys() == own & found.keys()
        first = next(t.question_id for t in mine if t.question_id not in own)
        assert share_queues(store).passed == ({} if mine[0].question_id in own else {"red0": (first,)})


def test_items_of_the_study_may_be_gold_but_are_put_to_others(tmp_path: Path) -> None:
    study = lay_out(tmp_path, 'gold = "gold.csv"\ngold_share = 1.0\n', experts=1)
    (tmp_path / "gold.csv").write_text("id,answer\ni0,Red\ni1,green\ni2,blue\n")
    route_questions(study)
    with Store(study.store_url) as store:
        first = {q.item_id: q.expert for q in store.content.read_questions()}
        gold = store.controls.read_gold_items()
        controls = store.controls.read_controls()
    assert sorted(g.truth for g in gold.values()) == [0, 1, 2]
    texts = {f"note {j}.": f"i{j}" for j in range(3)}
    assert controls
    assert all(first[texts[gold[c.item_id].item.text]] != c.expert for c in controls)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text,answer\na,red\nb,black\n", r"gold.csv:3 \[answer\].*'black' is none of its options"),
        ("text,answer\na,red\nb,\n", r"gold.csv:3 \[answer\].*is empty; a gold item needs"),
        ("text,answer\na,red\na,blue\n", r"gold.csv:3.*the same item as in line 2"),
        ("id,answer\ni1,red\ni99,blue\n", r"gold.csv:3 \[id\].*'i99' is no item of the study"),
        ("answer\nred\n", r"gold.csv:2 \[text\].*needs a text, or the id"),
        ("text\na\n", r"gold.csv:2 \[answer\].*no such column"),
        ("text,answer\n", r"gold.csv"),
    ],
)
def test_wrong_gold_is_named_and_nothing_is_stored(tmp_path: Path, text: str, message: str) -> None:
    study = lay_out(tmp_path)
    (tmp_path / "gold.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        route_questions(study)
    assert not (tmp_path / "study.db").exists()


@pytest.mark.parametrize("own", [False, True])
def test_a_gold_answer_changed_after_the_draw_is_named(tmp_path: Path, *, own: bool) -> None:
    study, file = lay_out(tmp_path, 'gold = "gold.csv"\ngold_share = 1.0\n'), tmp_path / "gold.csv"
    if own:
        file.write_text("id,answer\ni0,red\ni1,green\ni2,blue\n")
    route_questions(study)
    simulate_answers(study, str(tmp_path / "key.csv"))
    before = file.read_text()
    file.write_text(before.rstrip().rpartition(",")[0] + ",green\n")
    lines = len(before.splitlines())
    message = rf"gold.csv:{lines} \[answer\].*'note .*' is 'green', but the study stored '(red|blue)'.*put"
    with pytest.raises(DataError, match=message):
        route_questions(study)
    with Store(study.store_url) as store, pytest.raises(DataError, match=message):
        read_quality(study, store)
    file.write_text(before)
    assert route_questions(study).new == 0
    with Store(study.store_url) as store:
        assert read_quality(study, store)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ('protocol = "panel"\nrepeat = 0.1\n', "repeat: the protocol 'panel' does not allow control"),
        ('protocol = "sequential"\ngold = "gold.csv"\n', "gold: the protocol 'sequential' does not allow"),
        ('protocol = "disagreement"\noverlap = 0.1\n', "overlap: the protocol 'disagreement'"),
        ("gold_share = 0.2\n", "gold_share: there are no gold items"),
        ("repeat = 1.5\n", "repeat"),
        ("sensitivity = [0.2, 1.0]\n", "must be a range between 0.5 and 1"),
    ],
)
def test_unsupported_draws_are_refused(tmp_path: Path, extra: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        lay_out(tmp_path, extra)


def test_a_second_expert_must_be_there(tmp_path: Path) -> None:
    study = lay_out(tmp_path, "overlap = 0.3\n", experts=1)
    with pytest.raises(BadInput, match="no second expert is available"):
        route_questions(study)
    with Store(study.store_url) as store:
        assert store.count_rows("question") == {"question": 0}


def test_capacity_is_respected_and_missing_controls_are_reported(
    tmp_path: Path, oversight: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, 'gold = "gold.csv"\ngold_share = 1.0\n', experts=1, more="capacity = 30\n")
    monkeypatch.chdir(tmp_path)
    told = oversight("label", "route", "--json")
    assert max(told["experts"].values()) <= 30
    assert told["controls"]["gold"]["drawn"] < told["controls"]["gold"]["wanted"] == 60


def test_items_that_come_later_bring_their_share(tmp_path: Path) -> None:
    study = lay_out(tmp_path, ALL_KINDS)
    text = (tmp_path / "study.toml").read_text()
    (tmp_path / "study.toml").write_text(text.replace('file = "items.csv"', 'file = "items.csv"\nlimit = 30'))
    first = route_questions(read_study(tmp_path / "study.toml"))
    (tmp_path / "study.toml").write_text(text)
    with Store(study.store_url) as store:
        before = {c.id for c in store.controls.read_controls()}
    second = route_questions(study)
    assert first.controls is not None
    assert second.controls is not None
    assert (first.controls.drawn["gold"], second.controls.drawn["gold"]) == (6, 12)
    with Store(study.store_url) as store:
        assert before < {c.id for c in store.controls.read_controls()}
