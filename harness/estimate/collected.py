"""The part of a collection that may be estimated from while questions are open.

Experts answer at different speeds. While only the cardiologist has answered, every answer is about
cardiology; the answers so far are no random part of the questions drawn. The same share of every expert's
questions is one, if what an expert has answered of them is. So each expert's answers are cut down to the
share that the slowest has reached, by a hash of the question, and a study in which somebody has answered
nothing says nothing yet. A few open questions (a share of `FEW_OPEN`, if no expert has left open more than a
tenth of his own or half of that share of all) are treated like abstentions and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from harness.errors import NotIdentified
from harness.estimate.routed import FEW_OPEN
from harness.seeding import derive_seed
from harness.types import Label, Labels, Question, design_of


def collected_part(
    labels: Sequence[Label], items: Collection[str]
) -> tuple[Sequence[Label], tuple[str, ...]]:
    """Labels of the share that every expert has reached, and flags that say what was left out.

    Parameters
    ----------
    labels
        With their design, which knows the questions; a plain list is taken as complete, and so are
        labels of a protocol that asks on until an item is resolved.
    items
        Ids of the items that matter: those with a prediction.

    Raises
    ------
    NotIdentified
        If an expert has answered none of the questions put to him.
    """
    design = design_of(labels)
    if not design.drawn or design.statement.asks_on:
        return labels, ()
    said = {(x.item_id, x.option): x for x in labels}
    asked: Counter[str] = Counter()
    answered: dict[str, list[Label]] = {}
    for question in design.drawn:
        if question.item_id in items:
            asked[question.expert] += 1
            mine = answered.setdefault(question.expert, [])
            if (question.item_id, question.option) in said:
                mine.append(said[question.item_id, question.option])
    total, done = sum(asked.values()), sum(map(len, answered.values()))
    if done == total:
        return labels, ()
    share, slowest = min((len(mine) / asked[name], name) for name, mine in answered.items())
    spread = all(
        asked[name] - len(mine) <= max(0.1 * asked[name], FEW_OPEN / 2 * total)
        for name, mine in answered.items()
    )
    if total - done <= FEW_OPEN * total and spread:
        flag = f"open_questions: {total - done} of {total}"
        return labels, (flag,)
    if share == 0:
        silent = sorted(name for name, mine in answered.items() if not mine)
        names = ", ".join(silent[:3]) + " and others" * (len(silent) > 3)
        raise NotIdentified(
            f"{names} {'has' if len(silent) == 1 else 'have'} not answered yet "
            f"({done} of {total} questions answered): what the others answered is no random part of the items"
        )
    kept: set[int] = set()
    for name, mine in answered.items():
        mine.sort(key=draw_order)
        # rounded up or down by chance, so that experts with few questions count for no more than their part
        wanted = share * asked[name] + derive_seed(0, "rounded", name) / 2**64 - 1e-9
        kept |= {id(x) for x in mine[: int(wanted)]}
    part = [x for x in labels if id(x) in kept or x.item_id not in items]
    used = sum(id(x) in kept for x in labels)
    flag = (
        f"partial: {used} of {done} answers used, the {share:.0%} that every expert has reached ({slowest})"
    )
    return Labels(part, design), (flag,)


def draw_order(label: Label | Question) -> int:
    """Place of a question in an order that neither items nor experts chose."""
    return derive_seed(0, "drawn", label.item_id, str(label.option))


def growing_parts(labels: Sequence[Label], points: int) -> Iterator[Labels]:
    """The first 1/points, 2/points, … of the labels in the order of the draw.

    Each has the design of the questions drawn up to there, as if no more had been. Where questions are
    asked until an item is resolved, the questions of an item stay together.
    """
    design = design_of(labels)
    whole = bool(design.statements) and design.statement.asks_on

    def key(x: Label | Question) -> int:
        return derive_seed(0, "drawn", x.item_id) if whole else draw_order(x)

    ordered = sorted((key(x), place) for place, x in enumerate(labels))
    questions = sorted((key(q), place) for place, q in enumerate(design.drawn))
    for j in range(1, points + 1):
        n = round(len(labels) * j / points)
        last = ordered[n - 1][0] if 0 < n < len(labels) else None
        if n == 0:
            continue
        part = [labels[place] for order, place in ordered if last is None or order <= last]
        drawn = tuple(design.drawn[place] for order, place in questions if last is None or order <= last)
        asked = {x.item_id for x in drawn} if drawn and last is not None else design.asked
        yield Labels(part, replace(design, drawn=drawn, asked=frozenset(asked)))
