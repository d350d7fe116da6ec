"""Check or export the items of a study, or remove or correct one item.

example: oversight items check
         oversight items export items.jsonl key.csv
         oversight items remove ward-17 --reason "the patient withdrew" --erase
         oversight items correct ward-18 --reason "a typo" --answers keep
         oversight items correct ward-19 --reason "a wrong dose" --answers withdraw

For a public benchmark, `check` also compares the number of kept and dropped rows with the published numbers,
and `export` writes the correct answers to the second file only. `remove` and `correct` work on a study that
has begun. `correct` reads the new text from the items file, so change the text there first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict

from oversight.harness.analysis import (
    ChangedItem,
    advise_on_texts,
    check_items,
    correct_item,
    remove_item,
    write_items,
)
from oversight.harness.cli.conventions import add_actions, emit, join_names, study_of
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.output import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``oversight items``."""
    actions = add_actions(parser, {name: told for name, (_, told) in ACTIONS.items()})
    add = actions["export"].add_argument
    add("file", metavar="FILE", help="JSON Lines file to write")
    key = "file to write the correct answers of a public benchmark to"
    add("key", nargs="?", metavar="KEY", help=key)
    for name in ("remove", "correct"):
        add = actions[name].add_argument
        add("item", metavar="ID", help="id of the item")
        add("--reason", required=True, help="reason to record in the audit trail")
    erased = "also erase the item's text and answers from the audit trail and from stored prompts"
    actions["remove"].add_argument("--erase", action="store_true", help=erased)
    answers = "keep the answers and predictions about the item, or withdraw them and ask again"
    actions["correct"].add_argument("--answers", choices=["keep", "withdraw"], required=True, help=answers)


def run(args: argparse.Namespace) -> None:
    """Check or export the items without storing anything, or change one item."""
    study = study_of(args)
    if args.action in ("remove", "correct") and study.is_open:
        raise BadInput(f"`items {args.action}` does not apply to a study of open answers; start a new study")
    ACTIONS[args.action][0](args, study)


def _remove(args: argparse.Namespace, study: Study) -> None:
    done = remove_item(study, args.item, args.reason, erase=args.erase)
    text = (
        f"item {done.item} removed: {counted(done.questions, 'question')}, {counted(done.answers, 'answer')} "
        f"and {counted(done.predictions, 'prediction')} withdrawn{' and erased' if args.erase else ''}; "
        f"estimates are about the other {counted(done.left, 'item')} from now on"
        f"{_tell_candidates(done)}"
    )
    emit(args, asdict(done) | {"erased": args.erase}, "\n".join([text, *_tell_erased(done)]))


def _tell_candidates(done: ChangedItem) -> str:
    if not done.candidate_answers:
        return ""
    return f"; {counted(done.candidate_answers, 'answer')} of searched workflows withdrawn"


def _tell_erased(done: ChangedItem) -> list[str]:
    """Describe where an erased item's text may remain, and what the erasure changed for searches."""
    told = []
    if done.searches:
        told.append(
            f"prompts showed the item as an example in these searches: {', '.join(done.searches)}; they can "
            "no longer be resumed. Delete the workflow files that oversight search export wrote from them "
            "before, because they may still contain the text, and oversight cannot find them"
        )
    if done.runs:
        told.append(
            f"prompts showed the item as an example in these runs of workflows: {', '.join(done.runs)}; "
            "delete the example from the file with the workflow or with its examples, which may still "
            "contain it"
        )
    if done.remains:
        places = ", ".join(f"{name} ({counted(number, 'row')})" for name, number in done.remains.items())
        told.append(
            f"! the beginning of the item's text remains in the database: {places}; another item may have "
            "the same text, or a person, a model or a prompt file quoted it"
        )
    return told


def _correct(args: argparse.Namespace, study: Study) -> None:
    again = args.answers == "withdraw"
    done = correct_item(study, args.item, args.reason, ask_again=again)
    text = f"item {done.item} corrected: "
    if again:
        text += (
            f"{counted(done.answers, 'answer')} and {counted(done.predictions, 'prediction')} withdrawn, "
            f"{counted(done.questions, 'question')} asked again; estimates leave the item out until experts "
            "have answered and models have run again (oversight run)"
        )
        if done.candidate_answers:
            text += f"{_tell_candidates(done)}, ask them again with: oversight search resume"
    else:
        text += "its answers and predictions stay; estimates do not change"
    emit(args, asdict(done) | {"asked_again": again}, text)


def _export(args: argparse.Namespace, study: Study) -> None:
    n = write_items(study, args.file, args.key)
    written = [name for name in (args.file, args.key) if name]
    emit(args, {"written": written, "items": n}, f"{counted(n, 'item')} written to {' and '.join(written)}")


def _check(args: argparse.Namespace, study: Study) -> None:
    found = check_items(study)
    first = found.first
    payload = {
        "items": found.items,
        "items_by_number_of_options": found.by_options,
        "words": {"median": found.median_words, "longest": found.longest_words},
        "left_out": found.bad.number,
        "removed": found.removed,
        "repeated_texts": {"texts": found.repeated.texts, "items": found.repeated.items},
        "first": {"id": first.id, "text": first.text[:200], "options": list(first.shown_options)},
    }
    options = ", ".join(f"K={k}: {n}" for k, n in found.by_options.items())
    options = "open answers" if study.is_open else options
    text = f"{counted(found.items, 'item')} ({options}), median {found.median_words} words\n"
    if found.repeated.items:
        text += (
            f"{counted(found.repeated.texts, 'text')} in {found.repeated.items} items with different ids; "
            f"{advise_on_texts(study)}\n"
        )
    if found.removed:
        text += (
            f"left out, because they were removed from the study: {join_names(found.removed)}; a new item "
            "needs an id of its own\n"
        )
    if found.preset:
        rows, left_out, whole = found.preset.rows, dict(found.preset.left_out), found.preset.whole
        published = {"rows": dict(found.preset.published), "items_of_the_paper": found.preset.printed}
        payload["preset"] = {"rows": rows, "left_out": left_out, "whole": whole, "published": published}
        text += "".join(f"{line}\n" for line in found.preset.lines())
    if found.bad.number:
        text += "\n".join([f"{counted(found.bad.number, 'wrong row')} left out:", *found.bad.lines(), ""])
    text += f"first: {first.id}: {first.text[:100]}\n       {' | '.join(first.shown_options)}"
    emit(args, payload, text)


ACTIONS: dict[str, tuple[Callable[[argparse.Namespace, Study], None], str]] = {
    "check": (_check, "check the items, and print their number, options and lengths"),
    "export": (_export, "write the items to a file"),
    "remove": (_remove, "remove an item from a study that has begun"),
    "correct": (_correct, "store an item's new text, which is read from the items file"),
}
"""Action → its function and its help text."""
