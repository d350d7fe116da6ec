"""Stored data of a labelling campaign, on SQLite and PostgreSQL: repeated writes change nothing."""

from __future__ import annotations

from dataclasses import replace

from oversight.harness.store import SOURCE, Pulled, Quarantined, Queue, QueuedTask, Response, Revision, Store
from oversight.harness.types import Answer, Item, Verdict
from tests.store.test_study_store import questions

QUEUE = Queue("ana", "m1", "http://x", 3, "ana@example.org", 5, "2026-01-01T00:00:00+00:00")


def look(items: list[Item], *said: Verdict, lost: str = "") -> Pulled:
    """A look at the first tasks, answered so; task 99 holds something foreign."""
    asked = questions(items)[: len(said)]
    return Pulled(
        task_ids=frozenset({99, *range(len(said))}),
        question_ids=frozenset(q.id for q in asked),
        replies=tuple(Response(q.id, "ana", v.value, SOURCE, "é") for q, v in zip(asked, said, strict=True)),
        quarantine=(Quarantined("ana", 7, 99, None, "foreign", "user 9"),),
        revisions=tuple(
            Revision("ana", j, str(v), j, q.id, False, 5, 5, False, [{"v": str(v)}], "t", 1.5)
            for j, (q, v) in enumerate(zip(asked, said, strict=True))
        ),
        lost=frozenset({lost} - {""}),
    )


def test_campaign_is_read_back_and_repeated_writes_change_nothing(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        store.content.add_items(items)
        store.content.add_questions(questions(items))
        campaign = store.labelling
        campaign.save_queue(replace(QUEUE, project_id=None))
        campaign.save_queue(QUEUE)
        assert campaign.read_queues() == {"ana": QUEUE}
        tasks = [QueuedTask(q.id, "ana", place, "d") for place, q in enumerate(questions(items))]
        campaign.add_tasks(tasks)
        campaign.mark_sending([replace(tasks[0], digest="e"), *tasks[1:3]])
        campaign.set_task_ids({tasks[0].question_id: 40, tasks[1].question_id: None})
        assert [(t.task_id, t.sending, t.digest) for t in campaign.read_tasks()[:4]] == [
            (40, False, "e"),
            (None, False, "d"),
            (None, True, "d"),
            (None, False, "d"),
        ]
        for _ in range(2):
            campaign.apply_look(
                QUEUE, look(items, Verdict.YES, Verdict.NO, Verdict.SKIP), store.content.replies
            )
        assert [a.verdict for a in store.content.read_answers()] == [Verdict.YES, Verdict.NO, Verdict.SKIP]
        assert len(campaign.read_revisions()) == 3
        assert len(campaign.read_quarantine()) == 1
        later = replace(QUEUE, cursor="2026-02-01T00:00:00+00:00")
        changed = look(items, Verdict.NO, Verdict.NO, lost=tasks[0].question_id)
        campaign.apply_look(
            later, replace(changed, replies=changed.replies[:1], quarantine=()), store.content.replies
        )
        # The first answer was changed, the second withdrawn, and the third not yet seen.
        assert [(a.question.id, a.verdict) for a in store.content.read_answers()] == [
            (tasks[0].question_id, Verdict.NO),
            (tasks[2].question_id, Verdict.SKIP),
        ]
        assert len(campaign.read_revisions()) == 4
        assert campaign.read_quarantine() == []
        assert campaign.read_tasks()[0].task_id is None
        assert campaign.read_queues() == {"ana": later}


def test_an_answer_from_elsewhere_is_never_written_over(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        store.content.add_items(items)
        store.content.add_questions(questions(items))
        store.content.add_answers([Answer(questions(items)[0], "ana", Verdict.NO, "offline")])
        campaign = store.labelling
        campaign.save_queue(QUEUE)
        campaign.apply_look(replace(QUEUE, cursor="later"), look(items, Verdict.YES), store.content.replies)
        assert [(a.verdict, a.source) for a in store.content.read_answers()] == [(Verdict.NO, "offline")]
        assert campaign.read_queues() == {"ana": replace(QUEUE, cursor="")}  # all answers will be read again
