"""Insert control questions (gold, repeats, second experts) into the queues of a study.

Control questions do not change the draw of the study's own questions, whose propensities stay valid. The draw
of control questions depends only on the seed and on the study's questions. A repeated draw keeps existing
control questions and adds missing ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from oversight.harness import BadInput, derive_seed
from oversight.harness.analysis import check_gold
from oversight.harness.config import Study
from oversight.harness.output import counted
from oversight.harness.store import ControlKind, ControlQuestion, GoldItem, Store
from oversight.harness.types import PLACES, Question, control_id, draw_place, seal_ids
from oversight.protocols.routing.roster import Roster
from oversight.protocols.routing.sealed_ids import plain_id

_WHOLE = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertedControls:
    """Numbers of a study's control questions.

    Attributes
    ----------
    asked
        Expert → number of control questions, over all draws.
    drawn
        Kind → number of control questions, over all draws.
    wanted
        Kind → requested number; larger than `drawn` if no expert was available.
    new
        Number of control questions that were not stored before.
    """

    asked: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    wanted: Counter[str] = field(default_factory=Counter)
    new: int = 0

    @property
    def numbers(self) -> dict[str, dict[str, int]]:
        """Numbers of drawn and requested control questions: kind → ``{"drawn": n, "wanted": m}``."""
        return {kind: {"drawn": self.drawn[kind], "wanted": n} for kind, n in self.wanted.items()}

    def describe(self) -> list[str]:
        """Return one line per kind of control question."""
        return [
            f"among them {counted(self.drawn[kind], f'{kind} question')}"
            + (f" of {wanted} wanted: nobody can answer more" if self.drawn[kind] < wanted else "")
            for kind, wanted in self.wanted.items()
        ]


def insert_controls(
    study: Study, store: Store, roster: Roster, gold: Sequence[GoldItem], draws: int
) -> InsertedControls:
    """Draw and store the control questions that study.toml requests.

    Parameters
    ----------
    gold
        The study's gold items.
    draws
        Number of earlier draws; new control questions get later places in the queues.

    Raises
    ------
    BadInput
        If no question can have a second expert, or nobody can be asked about a gold item.
    DataError
        If the file of gold items gives another answer than the database has.
    """
    check_gold(study, store)
    before = store.controls.read_controls()
    wanted, drawn = Counter[str](), list[ControlQuestion]()
    if study.experts.has_controls:
        wanted, drawn = _draw_missing(study, store, roster, gold, before)
    return _store_controls(store, before, drawn, wanted, gold, draws)


def insert_overlap(
    study: Study, store: Store, roster: Roster, colleagues: Mapping[str, Sequence[str]], draws: int
) -> InsertedControls:
    """Draw and store the second experts of some questions about open answers.

    Parameters
    ----------
    colleagues
        Id of a question that can get a second expert → experts of the question's field who were not drawn for
        the question.
    draws
        As in `insert_controls`.

    Raises
    ------
    BadInput
        If no question can have a second expert.
    """
    before, seed = store.controls.read_controls(), study.study.seed
    questions = store.content.read_questions(second=False)
    queues = _Queues(roster, questions, before)

    def find_able(q: Question) -> list[str]:
        return [name for name in colleagues[q.id] if queues.has_room(name)]

    own = [q for q in questions if q.id in colleagues]
    plain = {q.id: q.item_id for q in own}
    drawn, wanted = _draw_again(
        seed, ControlKind.OVERLAP, study.experts.overlap, own, plain, before, queues, find_able
    )
    return _store_controls(store, before, drawn, Counter({ControlKind.OVERLAP.value: wanted}), (), draws)


def _store_controls(
    store: Store,
    before: Sequence[ControlQuestion],
    drawn: Sequence[ControlQuestion],
    wanted: Counter[str],
    gold: Sequence[GoldItem],
    draws: int,
) -> InsertedControls:
    """Store the control questions in `drawn` under sealed ids, each with a place in its expert's queue."""
    if drawn or wanted:
        sealed = seal_ids(store.controls.read_key(), [c.id for c in drawn])
        drawn = [replace(c, id=name) for c, name in zip(drawn, sealed, strict=True)]
        places = {q.id: q.place for q in store.content.read_questions(second=False)}
        drawn = [replace(c, place=_find_place(c, places.get(c.original), draws)) for c in drawn]
        _refuse_none(wanted, [*before, *drawn])
        store.controls.add_gold_items(gold)
    every = [*before, *drawn]
    return InsertedControls(
        asked=Counter(c.expert for c in every),
        drawn=Counter(c.kind.value for c in every),
        wanted=wanted,
        new=store.controls.add_controls(drawn),
    )


def _draw_missing(
    study: Study, store: Store, roster: Roster, gold: Sequence[GoldItem], before: Sequence[ControlQuestion]
) -> tuple[Counter[str], list[ControlQuestion]]:
    """Draw the requested control questions that were not drawn before.

    Returns kind → requested number, and the new questions.
    """
    section, seed, questions = study.experts, study.study.seed, store.content.read_questions(second=False)
    queues, wanted = _Queues(roster, questions, before), Counter[str]()
    drawn = list[ControlQuestion]()
    items = {item.id: item for item in store.content.read_items()} if gold or section.overlap else {}
    if gold:
        about = {item.text: item.id for item in items.values()}
        same = {g.item.id: about[g.item.text] for g in gold if g.item.text in about}
        wanted[ControlKind.GOLD.value] = number = max(2, round(section.gold_share * len(questions)))
        drawn += _draw_gold(seed, gold, same, queues, before, number)

    def find_able(q: Question, kind: ControlKind) -> list[str]:
        if kind is ControlKind.REPEAT:
            return [q.expert] if queues.has_room(q.expert) else []
        return queues.find_fresh(items[q.item_id].options[q.option], q.item_id)

    # Use the unsealed ids, because the draw must depend only on the seed.
    is_sealed = bool(store.controls.read_key())
    plain = {q.id: plain_id(q) if is_sealed else q.id for q in questions}
    for kind, share in ((ControlKind.REPEAT, section.repeat), (ControlKind.OVERLAP, section.overlap)):
        able = partial(find_able, kind=kind)
        again, wanted[kind.value] = _draw_again(seed, kind, share, questions, plain, before, queues, able)
        drawn += again
    return +wanted, drawn


def _draw_again(
    seed: int,
    kind: ControlKind,
    share: float,
    questions: Sequence[Question],
    plain: Mapping[str, str],
    before: Sequence[ControlQuestion],
    queues: _Queues,
    find_able: Callable[[Question], Sequence[str]],
) -> tuple[list[ControlQuestion], int]:
    """Repeat a random share of the questions as control questions.

    Returns the new control questions, and the number of questions selected. A selected question gets no new
    control question if nobody can be asked, or if it was repeated before.

    Parameters
    ----------
    plain
        Question id → text that seeds the random draws for this question.
    find_able
        Returns the experts who can be asked; empty if nobody can.
    """
    there = {c.original for c in before if c.kind is kind}
    picked = [q for q in questions if derive_seed(seed, kind, plain[q.id]) < share * _WHOLE]
    drawn = list[ControlQuestion]()
    for q in picked:
        able = [] if q.id in there else find_able(q)
        if able:
            draw = np.random.default_rng(derive_seed(seed, kind, "expert", plain[q.id]))
            expert = able[int(draw.integers(len(able)))]
            queues.put(q.item_id, expert)
            drawn.append(_control(seed, kind, q.item_id, q.option, expert, q.n_options, q.id))
    return drawn, len(picked)


class _Queues:
    """Number of each expert's questions, and the experts who were asked about each item."""

    def __init__(
        self, roster: Roster, asked: Iterable[Question], controls: Iterable[ControlQuestion]
    ) -> None:
        self._roster = roster
        self._load, self._seen = Counter[str](), defaultdict[str, set[str]](set)
        for question in (*asked, *(control.question for control in controls)):
            self.put(question.item_id, question.expert)
        self._present = {e.name: e for e in roster.experts if not e.absent}

    def put(self, item_id: str, expert: str) -> None:
        """Count one more question about the item for the expert."""
        self._load[expert] += 1
        self._seen[item_id].add(expert)

    def has_room(self, expert: str) -> bool:
        """Whether an expert is present and has capacity left."""
        found = self._present.get(expert)
        return found is not None and (found.capacity is None or self._load[expert] < found.capacity)

    def find_fresh(self, class_name: str, *items: str) -> list[str]:
        """Return experts who judge the class, have capacity left, and were asked about none of `items`."""
        seen = set().union(*(self._seen[item] for item in items))
        able = (e.name for e in self._roster.for_class(class_name))
        return [name for name in able if name not in seen and self.has_room(name)]


def _draw_gold(
    seed: int,
    gold: Sequence[GoldItem],
    same: dict[str, str],
    queues: _Queues,
    before: Sequence[ControlQuestion],
    wanted: int,
) -> Iterator[ControlQuestion]:
    """Yield questions on gold items in random order, half of them about the true option.

    If more questions are needed than there are gold items, each item is used a second time. The second
    question is about a false option if the first was about the true option, and vice versa. The expert who
    judges the option is drawn with the same probabilities as for the study's questions. So the error rates
    on gold items equal those on the study's items if these items are similar.
    """
    by_id = sorted(gold, key=lambda g: g.item.id)
    truth = {g.item.id: g.truth for g in by_id}
    there = [c for c in before if c.kind is ControlKind.GOLD]
    put = {(c.item_id, c.option == truth.get(c.item_id, -1)) for c in there}
    left = wanted - len(there)
    order = np.random.default_rng(derive_seed(seed, "gold")).permutation(len(by_id))
    for turn in (0, 1):
        for place, j in enumerate(order):
            if left <= 0:
                return
            found, about_truth = by_id[int(j)], (place + turn) % 2 == 0
            item = found.item
            if (item.id, about_truth) in put:
                continue
            draw = np.random.default_rng(derive_seed(seed, "gold", item.id, str(about_truth)))
            wrong = [k for k in range(len(item.options)) if k != found.truth]
            option = found.truth if about_truth else wrong[int(draw.integers(len(wrong)))]
            able = queues.find_fresh(item.options[option], item.id, same.get(item.id, item.id))
            if not able:
                continue
            expert = able[int(draw.integers(len(able)))]
            queues.put(item.id, expert)
            left -= 1
            yield _control(seed, ControlKind.GOLD, item.id, option, expert, len(item.options))


def _control(
    seed: int, kind: ControlKind, item: str, option: int, expert: str, n_options: int, original: str = ""
) -> ControlQuestion:
    """Make a control question, whose id is not sealed yet."""
    name = control_id(kind, seed, item, option, expert)
    return ControlQuestion(name, kind, item, option, expert, n_options, seed, original)


def _find_place(control: ControlQuestion, original: int | None, draws: int) -> int:
    """Draw a control question's place in the queue; a repeat comes after the repeated question."""
    place = draws * PLACES + draw_place(control.id)
    if control.kind is not ControlKind.REPEAT or original is None or place > original:
        return place
    return original + 1 + place % (PLACES - original % PLACES)


def _refuse_none(wanted: Counter[str], every: Sequence[ControlQuestion]) -> None:
    drawn = Counter(c.kind.value for c in every)
    if wanted[ControlKind.OVERLAP.value] and not drawn[ControlKind.OVERLAP.value]:
        raise BadInput(
            "overlap: no second expert is available: every class has only one expert who is neither absent "
            "nor at capacity; add another expert to the roster, or leave overlap out"
        )
    if wanted[ControlKind.GOLD.value] and not drawn[ControlKind.GOLD.value]:
        raise BadInput(
            "gold: no expert is available for a gold question: every expert for its option is at capacity, "
            "or was already asked about its item"
        )
