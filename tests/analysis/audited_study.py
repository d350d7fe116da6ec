"""A small study with answers of every kind: from a server with comments, in batches, to control questions."""

from __future__ import annotations

from pathlib import Path

from oversight.harness.analysis.opened_study import note_look
from oversight.harness.config import Study
from oversight.harness.store import (
    SOURCE,
    PlannedLook,
    Pulled,
    Queue,
    Response,
    Revision,
    Store,
    hash_annotation,
)
from oversight.protocols.routing import read_pending
from oversight.protocols.study_labels import route_questions, simulate_answers
from tests.protocols.test_controls import lay_out

LOOKED_AT = "red0"


def answer_on_server(study: Study, *, verdict: str = "no", comment: str = "see page 3", but: int = 0) -> int:
    """Have an expert answer all questions but some on a server; how many those are."""
    with Store(study.store_url) as store:
        mine = [q for q in read_pending(study, store) if getattr(q, "expert", "") == LOOKED_AT]
        said = mine[but:]
        replies = tuple(Response(q.id, LOOKED_AT, verdict, SOURCE, comment) for q in said)
        version = hash_annotation(5, 5, False, [], verdict)
        seen = tuple(
            Revision(LOOKED_AT, j, version, j, q.id, False, 5, 5, False, [], verdict, 1.5)
            for j, q in enumerate(said)
        )
        ids = frozenset(q.id for q in mine)
        pulled = Pulled(frozenset(range(len(mine))), ids, replies, (), seen)
        store.labelling.save_queue(Queue(LOOKED_AT, "m"))
        store.labelling.apply_look(Queue(LOOKED_AT, "m"), pulled, store.replies(panel=False))
        return len(said)


def lay_out_audited(folder: Path) -> Study:
    """Draw questions and control questions, answer some on a server, hand one over, simulate the others."""
    study = lay_out(folder)
    route_questions(study)
    answer_on_server(study, but=1)
    with Store(study.store_url) as store:
        given = next(q for q in store.content.read_questions() if q.expert != LOOKED_AT)
        taker = f"{given.expert[:-1]}{1 - int(given.expert[-1])}"
        store.people.hand_over([(given.id, given.expert, taker)], "on leave")
        note_look(store, PlannedLook(look=1, looks=2, answered=9, drawn=20))
    simulate_answers(study, abstention=0.1, key=str(folder / "key.csv"))
    return study
