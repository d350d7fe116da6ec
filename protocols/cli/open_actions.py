"""The actions of ``oversight label`` for a study of open answers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from oversight.harness import BadInput
from oversight.harness.cli import emit
from oversight.harness.config import Study
from oversight.harness.open_answers import Frame, make_frame, read_frame, read_units, write_units
from oversight.harness.output import counted
from oversight.harness.store import Store, refuse_mark
from oversight.protocols.open_answers import RoutedUnits, route_units, simulate_units


def route(args: argparse.Namespace, study: Study) -> None:
    """Draw units, and ask the questions that are due."""
    if args.more:
        raise BadInput(
            "--more: a study of open answers has only one draw, because a second one would change the "
            "probabilities of questions that are already answered; start a new study"
        )
    if args.second:
        raise BadInput(
            "--second: second questions are about other options of an item, but open answers have no options"
        )
    done = route_units(study, args.questions)
    payload = {
        "questions": done.asked.total(), "new": done.new, "experts": dict(done.asked),
        "drawn": {"questions": done.drawn, "of": done.of}, "waiting": done.waiting,
        "answers": done.answers, "units": done.units,
    }  # fmt: skip
    if study.experts.overlap:
        payload["controls"] = done.again.numbers
    emit(args, payload, _tell(done))


def _tell(done: RoutedUnits) -> str:
    text = (
        f"{counted(done.drawn, 'question')} drawn of {done.of:,}, about {counted(done.units, 'unit')} of "
        f"{counted(done.answers, 'answer')}; {counted(done.asked.total(), 'question')} put to "
        f"{counted(len(done.asked), 'expert')} ({done.new} new)"
    )
    if done.waiting:
        text += f"; {done.waiting} more may follow, depending on answers: run oversight label route again"
    text += "; next: oversight label export, serve or push"
    return "\n".join([text, *done.again.describe()])


def show_units(args: argparse.Namespace, study: Study) -> None:
    """Split answers into units, or read corrected units from a file; store and, if asked, export them."""
    refuse_mark(study.store_url)
    with Store(study.store_url) as store:
        if args.replace:
            _refuse_drawn(store)
        frame = read_frame(store)
        if not frame.answers:
            frame = make_frame(study, store)
        if args.replace:
            items = {answer.item_id for answer in frame.answers}
            frame = Frame(answers=frame.answers, units=read_units(args.replace, frame.answers, items))
        _store_frame(store, frame, replaces=bool(args.replace))
    if args.file:
        write_units(frame.units, {answer.id: answer.text for answer in frame.answers}, Path(args.file))
    where = f", written to {args.file}" if args.file else ""
    first = frame.units[0].text if frame.units else ""
    told = f"{counted(len(frame.units), 'unit')} of {counted(len(frame.answers), 'answer')}"
    text = f"{told}{where}\nfirst: {first}"
    emit(args, {"units": len(frame.units), "answers": len(frame.answers), "first": first}, text)


def _refuse_drawn(store: Store) -> None:
    if store.open_answers.read_draw():
        raise BadInput("--replace: the units cannot change, because questions about them were drawn")


def _store_frame(store: Store, frame: Frame, *, replaces: bool) -> None:
    with store.together(exclusive=True):
        if replaces:
            _refuse_drawn(store)  # again, because another command may have drawn questions meanwhile
        if not store.open_answers.read_draw():
            store.open_answers.remove_frame()
            store.open_answers.add_answers(frame.answers)
            store.open_answers.add_units(frame.units)


def simulate(args: argparse.Namespace, study: Study) -> None:
    """Answer all questions from a file of true labels, including questions that these answers make due."""
    if not args.key:
        raise BadInput("give the true labels with --key FILE (columns item, model, unit, label)")
    if args.sensitivity != 1 or args.specificity != 1:
        raise BadInput("--sensitivity and --specificity do not apply to a study of open answers")
    new = simulate_units(study, args.key, abstention=args.abstention)
    emit(args, {"new": new}, f"{counted(new, 'question')} answered by simulated experts")


_OWN = {"route": route, "simulate": simulate, "units": show_units}
_REFUSED = {"watch": "use oversight label pull, then oversight estimate"}
"""Actions that do not apply to open answers, with advice."""
Action = Callable[[argparse.Namespace, Study], None]


def find_action(name: str, study: Study, usual: Action) -> Action:
    """Return the function that performs a sub-verb of ``oversight label`` in a study of open answers.

    It is `usual` if the sub-verb does the same in all studies.

    Raises
    ------
    BadInput
        If the study does not support the sub-verb.
    """
    if not study.is_open:
        raise BadInput(f"`label {name}` is for studies of open answers; the items of this study have options")
    if name in _REFUSED:
        raise BadInput(f"`label {name}` does not apply to a study of open answers; {_REFUSED[name]}")
    return _OWN.get(name, usual)
