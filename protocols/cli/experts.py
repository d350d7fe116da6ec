"""Give experts accounts, measure their quality, record absences, and export or erase their data.

examples: oversight experts invite             creates accounts on Label Studio, prints each password once
          oversight experts list               shows who has an account
          oversight experts password ana       sets a new password for ana
          oversight experts quality            error rates, consistency and drift, from control questions
          oversight experts absent ana --until 2026-12-24
          oversight experts return ana
          oversight experts replace ana bea     ana leaves; bea receives her open questions
          oversight experts export ana     writes all data about ana to ana.json
          oversight experts forget ana     removes ana's comments, and reasons given in events about ana
          oversight experts erase ana      also removes her name; see docs/data-protection.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict

from oversight.harness import BadInput, LabelStudioError
from oversight.harness.analysis import read_quality
from oversight.harness.cli import add_actions, emit, study_of
from oversight.harness.config import Study
from oversight.harness.output import counted, reveal
from oversight.harness.report import quality_table, quality_to_json
from oversight.harness.store import Store
from oversight.protocols.people import Reassigned, reassign, write_reminders


def hand_over(
    study: Study, store: Store, giver: str, taker: str, reason: str, *, absence: str = ""
) -> Reassigned:
    """Reassign open questions; if they are on a server, also pull before and push afterwards.

    `absence` is the reason to record `giver` as absent; if empty, `giver` still gets new questions.
    """
    from oversight.protocols.people import note_absence

    def move() -> Reassigned:
        with store.together(exclusive=True):
            done = reassign(study, store, giver, taker, reason)
            if absence:  # recorded before the push, which can fail
                note_absence(study, store, giver, reason=absence)
        return done

    queues = store.labelling.read_queues().values()
    if all(queue.closed for queue in queues):
        return move()
    from oversight.protocols.collect import Campaign

    with Campaign(study, store) as campaign:
        campaign.pull()
        done = move()
        try:
            campaign.push()
        except LabelStudioError as error:
            told = f"{tell_reassigned(done, giver, taker)}, but not all were sent: {error}"
            raise LabelStudioError(f"{told}; send them with: oversight label push") from None
    return done


def tell_reassigned(done: Reassigned, giver: str, taker: str) -> str:
    """Describe in a sentence how many questions were reassigned."""
    text = f"{counted(done.moved, 'open question')} of {giver} were given to {taker}"
    if done.repeats:
        text += f"; {done.repeats} of them repeat questions that {taker} already has, and count as repeats"
    return text + "".join(f"; {n} stayed, because {why}" for why, n in done.kept.items())


def run_reassign(args: argparse.Namespace, study: Study) -> None:
    """Reassign the open questions of one expert to another."""
    with Store(study.store_url) as store:
        done = hand_over(study, store, args.expert, args.to, args.reason)
    emit(args, asdict(done), tell_reassigned(done, args.expert, args.to))


def remind(args: argparse.Namespace, study: Study) -> None:
    """Print a reminder for every expert with open questions."""
    with Store(study.store_url) as store:
        found = write_reminders(study, store, args.expert)
    lines = [
        f"({r.expert} is away{'' if r.away == 'for good' else ' until'} {r.away}: {r.open} open)"
        if r.away
        else f"{f'<{r.email}> ' if r.email else ''}{r.text}"
        for r in found
    ]
    emit(args, {"reminders": [asdict(r) for r in found]}, "\n".join(lines) or "nothing is open")


def invite(args: argparse.Namespace, study: Study) -> None:
    """Create accounts, or only list who has an account."""
    from rich.table import Table

    from oversight.protocols.collect import Campaign, invite

    check = args.action == "list"
    with Store(study.store_url) as store, Campaign(study, store) as campaign:
        accounts = invite(campaign, check=check)
        away = store.people.read_absences()
    table = Table("expert", "classes", "logs in as", "account", title="Accounts")
    handed = list[str]()
    for a in accounts:
        state = "has an account" if a.exists else "no account"
        if a.password:
            state = "made just now"
            handed.append(f"{a.expert}: {a.url} as {a.email} with the password {a.password}")
        reveal(a.password)
        absent = away.get(a.expert)
        told = "" if absent is None else f" (away{f' until {absent.until}' if absent.until else ''})"
        table.add_row(a.expert + told, ", ".join(a.classes), a.email, state)
    table.caption = "Passwords are shown only once and are not stored: pass them on now."
    emit(args, {"accounts": [asdict(a) for a in accounts]}, table)
    if handed and not args.json:
        # Print addresses outside the table, because its cells would break them into lines.
        emit(args, {}, "\n".join(handed))


def renew_password(args: argparse.Namespace, study: Study) -> None:
    """Give an expert a new password on the server of this machine."""
    from oversight.protocols.collect import Campaign, renew_password

    with Store(study.store_url) as store, Campaign(study, store) as campaign:
        account = renew_password(campaign, args.expert)
    reveal(account.password)
    text = f"{account.expert} logs in as {account.email} with {account.password}, which is stored nowhere"
    emit(args, asdict(account), text)


def show_quality(args: argparse.Namespace, study: Study) -> None:
    """Show error rates, consistency and drift, from control questions."""
    with Store(study.store_url) as store:
        quality = read_quality(study, store)
    if not quality:
        settings = "overlap" if study.is_open else "one of gold, repeat and overlap"
        errors = "; oversight estimate shows experts' errors on units of gold" if study.is_open else ""
        raise BadInput(
            f"there are no control questions; set {settings} under [experts], then draw questions with: "
            f"oversight label route{errors}"
        )
    emit(args, {"quality": quality_to_json(quality)}, quality_table(quality))


def note_absence(args: argparse.Namespace, study: Study) -> None:
    """Record that an expert is absent; meanwhile, new questions go to other experts who can answer them."""
    from oversight.protocols.people import note_absence

    with Store(study.store_url) as store:
        absence = note_absence(study, store, args.expert, args.until or "", args.reason)
    until = f" until {absence.until}" if absence.until else ""
    then = (
        f"open questions wait; give them to another expert with: oversight label reassign {args.expert} NAME"
    )
    emit(args, asdict(absence), f"{absence.expert} is away{until}; {then}")


def end_absence(args: argparse.Namespace, study: Study) -> None:
    """Record that an expert is back."""
    from oversight.protocols.people import end_absence

    with Store(study.store_url) as store:
        was_away = end_absence(study, store, args.expert)
    text = f"{args.expert} is back" if was_away else f"{args.expert} was not away"
    emit(args, {"expert": args.expert, "was_away": was_away}, text)


def replace(args: argparse.Namespace, study: Study) -> None:
    """Record that an expert has left, and give their open questions to another expert."""
    absence = args.reason or f"replaced by {args.by}"
    with Store(study.store_url) as store:
        done = hand_over(study, store, args.expert, args.by, args.reason or "replaced", absence=absence)
    emit(
        args,
        asdict(done),
        f"{tell_reassigned(done, args.expert, args.by)}; {args.expert} gets no more questions",
    )


def export(args: argparse.Namespace, study: Study) -> None:
    """Write all stored data about an expert."""
    from oversight.protocols.people import export_person

    path = args.file or f"{args.expert.replace('/', '_')}.json"
    study.refuse_own_file(path)
    number = export_person(study, args.expert, path)
    emit(args, {"file": path, "rows": number}, f"{counted(number, 'row')} about {args.expert} in {path}")


def forget(args: argparse.Namespace, study: Study) -> None:
    """Remove an expert's comments, and the reasons given in events about this expert."""
    from oversight.protocols.people import forget_texts

    done = forget_texts(study, args.expert)
    emit(args, asdict(done), f"comments of {args.expert} and reasons about them are removed")


def erase(args: argparse.Namespace, study: Study) -> None:
    """Erase an expert's name, texts, codes and addresses; study.toml decides whether answers are kept."""
    from oversight.protocols.people import erase_person

    done = erase_person(study, args.expert)
    kept = f"{counted(done.answers, 'answer')} remain under the name {done.name}"
    text = f"{args.expert} is erased from the database; {kept if done.answers else 'no answers remain'}"
    if done.open and study.experts.is_panel:
        text += f"; {counted(done.open, 'rating')} stay missing; nobody can rate for another annotator"
    elif done.open:
        text += f"; {counted(done.open, 'question')} still open, to give to another expert with: "
        text += f"oversight label reassign {done.name} NAME"
    text += "\nYou must still erase exported files, backups, and the account on Label Studio"
    emit(args, asdict(done), text)


SUB_VERBS: dict[str, tuple[Callable[[argparse.Namespace, Study], None], str]] = {
    "invite": (invite, "create accounts on Label Studio, printing each password once"),
    "list": (invite, "list who has an account and who is away"),
    "password": (renew_password, "set a new password for an expert"),
    "quality": (show_quality, "show error rates, consistency and drift, from control questions"),
    "absent": (note_absence, "record that an expert is away, temporarily or permanently"),
    "return": (end_absence, "record that an expert is back"),
    "replace": (replace, "record that an expert has left, and give their open questions to another"),
    "export": (export, "write all stored data about an expert as JSON"),
    "forget": (forget, "remove an expert's comments and the recorded reasons about the expert"),
    "erase": (erase, "erase an expert's name, texts, codes and addresses"),
}
_OF_ONE = ("password", "absent", "return", "replace", "export", "forget", "erase")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-verbs of ``oversight experts``."""
    verb = add_actions(parser, {name: text for name, (_, text) in SUB_VERBS.items()})
    for name in _OF_ONE:
        verb[name].add_argument("expert", metavar="EXPERT", help="name of the expert in the roster")
    last = "last day of the absence, for example 2026-12-24 (default: no end)"
    verb["absent"].add_argument("--until", metavar="DAY", help=last)
    verb["replace"].add_argument(
        "by", metavar="NAME", help="name of the expert who takes over the open questions"
    )
    verb["export"].add_argument(
        "file", nargs="?", metavar="FILE", help="JSON file to write (default: EXPERT.json)"
    )
    for name in ("absent", "replace"):
        verb[name].add_argument("--reason", default="", help="reason to record in the audit trail")


def run(args: argparse.Namespace) -> None:
    """Run the chosen sub-verb."""
    SUB_VERBS[args.action][0](args, study_of(args))
