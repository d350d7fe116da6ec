"""A study's questions and answers without a server: draw, export, import, simulate.

A file is read in portions, which are stored together or not at all. All other input is checked before the
database is opened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, repeat
from pathlib import Path

from oversight.harness import BadInput, ConfigError
from oversight.harness.analysis import (
    DesignFreeze,
    digest_source,
    note_source,
    read_gold,
    read_items_ahead,
    stream_items,
    study_items,
    study_truth,
)
from oversight.harness.config import Study
from oversight.harness.datasets import BadRows, pause_collector, read_ahead
from oversight.harness.output import counted, say
from oversight.harness.store import (
    GoldItem,
    ItemDraw,
    Response,
    ShownRepository,
    Store,
    append_events,
    has_database,
    refuse_mark,
)
from oversight.harness.types import Assignment, Item, Question
from oversight.protocols.collect import (
    WITHDRAWN,
    AnswerWords,
    AskedQuestions,
    VerdictFiles,
    export_questions,
    mark_cells,
    read_panel,
    write_cells,
    write_options,
    write_ratings,
)
from oversight.protocols.routing import (
    ANY_CLASS,
    DrawSummary,
    InsertedControls,
    Roster,
    check_drawn,
    draw_items,
    draw_questions,
    draw_second_questions,
    insert_controls,
    next_assignments,
    panel_rule_of,
    read_pending,
    read_present,
    read_roster,
    refuse_first_after_second,
)


def text_key(study: Study, store: Store) -> int | None:
    """Return the key of the checksums in exported files; the key changes if the items' texts change.

    The key is derived from the digest of the items file. The database contains this digest only for large
    files, after their items were stored. Without the digest, the key is None.
    """
    digest = digest_source(study)
    return int(digest[:8], 16) if digest and ShownRepository(store).has_source(digest) else None


class AskedLookup(AskedQuestions):
    """Looks up asked questions one by one, or reads all of them when that becomes faster.

    A question is removed from memory when it is looked up, because a file normally has one answer per
    question. A second lookup of the question uses the database.

    Parameters
    ----------
    study
        The study.
    store
        Database of the study.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self._study, self._store = study, store
        self._content, self._controls = store.content, store.controls
        self._shown, self._replies = ShownRepository(store), store.replies(panel=False)
        # Single look-ups are slow, so all questions are read at once when 1/30 of them were looked up.
        self._enough, self._looked_up = store.content.count_questions() / 30, 0
        self._experts: dict[str, str] | None = None
        self._marks: dict[str, int] | None = None
        self._wants_marks = False
        self._taken = {name: handed.taker for name, handed in store.people.read_handovers().items()}

    @cached_property
    def key(self) -> int | None:
        """Key of the checksums in exported files, from `text_key`."""
        return text_key(self._study, self._store)

    def find_experts(self, ids: Sequence[str]) -> list[str | None]:
        """Return the expert of each question; None if the question was never asked."""
        found = self._find_first(ids)
        return (
            [self._taken.get(i, expert) for i, expert in zip(ids, found, strict=True)]
            if self._taken
            else found
        )

    def _find_first(self, ids: Sequence[str]) -> list[str | None]:
        if self._experts is None and self._looked_up > self._enough:
            self._read_all()
        found: list[str | None] = (
            [None] * len(ids) if self._experts is None else list(map(self._experts.pop, ids, repeat(None)))
        )
        if None in found:
            others = [name for name, expert in zip(ids, found, strict=True) if expert is None]
            self._looked_up += len(others)
            looked_up = self._content.find_experts(others)
            if len(looked_up) < len(others):
                looked_up |= self._controls.find_experts([i for i in others if i not in looked_up])
            found = [expert or looked_up.get(name) for name, expert in zip(ids, found, strict=True)]
        return found

    def find_marks(self, ids: Sequence[str]) -> list[int | None]:
        """Return the hash of each question's exported texts; None if the question was never asked."""
        self._wants_marks = True
        read = self._marks or {}
        found = list(map(read.pop, ids, repeat(None)))
        if None in found:
            others = [name for name, mark in zip(ids, found, strict=True) if mark is None]
            looked_up = {name: mark_cells(cells) for name, cells in self.find_cells(others).items()}
            found = [looked_up.get(i) if mark is None else mark for i, mark in zip(ids, found, strict=True)]
        return found

    def find_cells(self, ids: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """Return the exported texts of each asked question among `ids`, as question id → column → text."""
        text = self._study.experts.question_text
        return {name: write_cells(*shown, text) for name, shown in self._shown.find_shown(ids).items()}

    def find_said(self, ids: Sequence[str]) -> dict[str, Response]:
        """Return the stored answers of these questions, by id.

        The result is empty if the study had no answers when this method was first called.
        """
        return self._replies.find_replies(ids) if self._is_answered else {}

    @cached_property
    def _is_answered(self) -> bool:
        return any(self._replies.count_replies().values())

    def _read_all(self) -> None:
        if self._wants_marks:
            self._experts, self._marks = self._shown.read_marks(
                partial(write_options, question_text=self._study.experts.question_text)
            )
        else:
            self._experts = self._content.read_experts()
        self._experts |= self._controls.read_experts()


def route_questions(
    study: Study, *, questions: int | None = None, more: int | None = None, second: bool = False
) -> DrawSummary:
    """Draw and store the questions of a study.

    Parameters
    ----------
    questions
        Number of questions for which items are drawn; None uses the number in study.toml.
    more
        Number of questions to add to earlier ones. If `second` is False, they are about newly drawn items.
    second
        Whether the `more` questions are second questions about items whose first answer was no.

    Raises
    ------
    BadInput
        If `questions` or `more` is not positive, or the study does not support this draw.
    ConfigError
        If the study is already a panel, or another rule drew questions before.
    DataError
        If a gold item of study.toml is wrong.
    """
    refuse_mark(study.store_url)
    for name, number in (("--questions", questions), ("--more", more)):
        if number is not None and number < 1:
            raise BadInput(f"{name} must be at least 1, is {number}")
    if second and (more is None or questions is not None):
        raise BadInput(
            "give --second together with --more N (the number of second questions to draw about items "
            "answered no) and without --questions"
        )
    roster = read_roster(study.path(study.experts.roster))
    # Do not create a new database here; it is created only after the items were read.
    if has_database(study.store_url):
        with Store(study.store_url) as store:
            roster = read_present(study, store)
    roster.check(study.items.classes or _find_common_options(study, roster))
    with pause_collector():
        drawn = questions or study.experts.questions, more
        return _route_questions(study, roster, read_gold(study), drawn, second=second)


def _route_questions(
    study: Study,
    roster: Roster,
    gold: Sequence[GoldItem],
    numbers: tuple[int | None, int | None],
    *,
    second: bool,
) -> DrawSummary:
    asked, new, ids = Counter[str](), 0, list[str]()
    items = read_items_ahead(study)
    with Store(study.store_url) as store, store.together(exclusive=True):
        if store.panel.has_assignments():
            raise ConfigError("this study is a panel already: start a new study for yes/no questions")
        is_new, freeze = not store.content.has_items(), DesignFreeze(study, store)
        draws = store.content.count_draws()

        def store_items() -> Iterator[list[Item]]:
            for portion in store.content.store_items(chain.from_iterable(items.portions)):
                ids.extend(item.id for item in portion)
                yield portion

        wanted, more = numbers
        seconds = more if second else None
        more = None if second else more
        with store.content.indexing_late():
            portions: Iterable[list[Item]] = store_items()
            if wanted or more or store.pool.read_draws() or "draw" in study.experts.model_fields_set:
                # Read all portions, because strata are computed from all items.
                portions = list(portions)
                draw_items(study, store, ids, wanted, more)
            for questions in draw_questions(study, store, roster, portions):
                asked.update([expert for _, _, _, expert, *_ in questions])
                new += store.content.add_question_fields(questions, draws)
        refuse_first_after_second(store, new)
        deeper = None
        if seconds is not None:
            deeper = draw_second_questions(study, store, roster, seconds)
            new += store.content.add_question_fields(deeper.questions, draws)
        asked.update(q.expert for q in store.content.read_questions(second=True))
        inserted = insert_controls(study, store, roster, gold, draws) if ids else InsertedControls()
        freeze.end(new + inserted.new)
        note_source(study, store, items.digest, ids, are_all=is_new)
        item_draws = store.pool.read_draws()
        asked += inserted.asked
        # Count the stored questions, because their experts may differ from the experts of this draw.
        if not study.experts.statement.asks_on:
            asked = Counter(store.count_asked(panel=False))
    controls = inserted if study.experts.has_controls else None
    return DrawSummary(
        asked=asked,
        new=new + inserted.new,
        items=len(ids),
        controls=controls,
        draws=item_draws,
        second=deeper,
    )


def _find_common_options(study: Study, roster: Roster) -> tuple[str, ...]:
    """Return the options that all items share.

    Returns an empty tuple if items have different options, or if every expert may judge any option.
    """
    if roster.classes == (ANY_CLASS,):
        return ()
    items = stream_items(study)
    first = next(items).options
    return first if all(item.options == first for item in items) else ()


def route_panel(study: Study) -> DrawSummary:
    """Assign every item to its annotators and store the assignments.

    Raises
    ------
    ConfigError
        If the study has yes/no questions, or items were assigned by another rule.
    """
    refuse_mark(study.store_url)
    items = study_items(study)
    roster = read_roster(study.path(study.experts.roster))
    rule = panel_rule_of(study, roster)
    with Store(study.store_url) as store, store.together(exclusive=True):
        if store.content.has_questions():
            raise ConfigError("this study has yes/no questions already: start a new study for a panel")
        freeze = DesignFreeze(study, store)
        drawn = next_assignments(rule, items, store.panel.read_assignments(), roster)
        store.content.add_items(items)
        new = store.panel.add_assignments(drawn)
        freeze.end(new)
    asked = Counter(a.annotator for a in drawn)
    return DrawSummary(asked=asked, new=new, items=len(items), each=rule.n, annotators=len(rule.annotators))


def export_open(study: Study, folder: str | Path, form: str = "csv") -> tuple[list[Path], int]:
    """Write the open questions, one file per person. Returns the files and the number of questions."""
    with Store(study.store_url) as store:
        # Refuse a copied database, because filled-in sheets are imported into the original study.
        store.marks.refuse_mark()
        asked = read_pending(study, store)
        items = store.read_shown_items()
        answered = store.replies(panel=study.experts.is_panel).read_replies()
        key = text_key(study, store)
    described = [f"{name}: {text}" for name, text in study.label_studio.descriptions.items()]
    paths = export_questions(
        asked,
        items,
        answered,
        folder,
        form,
        key,
        study.experts.question_text,
        "\n".join([study.label_studio.instructions, *described]),
    )
    return paths, len(asked) - len(answered)


def read_draws(study: Study) -> list[ItemDraw]:
    """Return the draws of items from the study's pool, in order; empty if every item is asked about."""
    with Store(study.store_url) as store:
        return store.pool.read_draws()


def export_ratings(study: Study, path: str | Path) -> int:
    """Write the ratings of a panel in long form. Returns their number."""
    with Store(study.store_url) as store:
        read_pending(study, store)
        ratings = store.panel.read_ratings()
    write_ratings(ratings, path)
    return len(ratings)


def import_answers(
    study: Study,
    files: Sequence[str | Path],
    *,
    label_studio: bool = False,
    words: AnswerWords | None = None,
    skipped: BadRows | None = None,
    changes: bool = False,
) -> tuple[int, int]:
    """Read filled-in files or Label Studio's JSON exports.

    Returns the number of answers that were read, and the number of these that are new.

    Parameters
    ----------
    label_studio
        Whether the files are exports of Label Studio.
    words
        Meanings of the words in filled-in files; None for the words of `make_words`.
    skipped
        Records bad rows of filled-in files, which are left out. If None, any bad row is an error.
    changes
        Whether answers replace or withdraw answers from earlier files. Changed answers count as new.
    """
    with Store(study.store_url) as store:
        store.marks.refuse_mark()
        replies = store.replies(panel=study.experts.is_panel)
        withdrawn = store.audit.find_withdrawn()
        withdrawn -= replies.find_values(sorted(withdrawn)).keys() if withdrawn else set()
        if label_studio:
            # Imported here, because it loads many modules.
            from oversight.protocols.collect import read_study_export

            given = read_study_export(study, store, files)
            found = len(given), replies.add_replies(given)
        elif study.experts.is_panel:
            found = _import_labels(study, store, files, skipped, changes=changes)
        else:
            check_drawn(study, store)
            read = VerdictFiles(files, AskedLookup(study, store), words, skipped, changes=changes)
            found = _change_verdicts(store, read) if changes else _import_yes_no(store, read)
        again = replies.find_values(sorted(withdrawn)) if withdrawn else {}
        if again:
            told = f"{counted(len(again), 'new answer')} to questions whose earlier answer was withdrawn"
            if not label_studio:  # a file cannot withdraw answers that came from an export of Label Studio
                told += "; if the file is older, withdraw again: oversight label import FILE --change"
            say(told)
        return found


def _import_labels(
    study: Study, store: Store, files: Sequence[str | Path], skipped: BadRows | None, *, changes: bool
) -> tuple[int, int]:
    """Read and store labels of a panel. Returns the same two numbers as `import_answers`."""
    items = store.read_shown_items()
    assigned = [a for a in read_pending(study, store) if isinstance(a, Assignment)]
    stored = store.panel.replies.find_values([a.id for a in assigned])
    choices = read_panel(files, assigned, items, skipped, None if changes else stored, changes=changes)
    if changes:
        given = [Response(c.assignment.id, c.assignment.annotator, c.label, c.source) for c in choices]
        return _change_answers(store, given, panel=True)
    return len(choices), store.panel.add_choices(choices)


def _change_verdicts(store: Store, read: VerdictFiles) -> tuple[int, int]:
    """Store answers after reading all files, because a later portion can contradict an earlier one."""
    portions = list(read)
    given = [Response(*r) for portion in read.leave_contradicted(portions) for r in portion]
    return _change_answers(store, given, panel=False)


def _change_answers(store: Store, given: Sequence[Response], *, panel: bool) -> tuple[int, int]:
    """Store new answers; replace or withdraw answers from earlier files, with one event per change."""
    replies = store.replies(panel=panel)
    with store.together(exclusive=True):
        before = replies.read_replies()
        changed = [r for r in given if r.id in before and r.value != before[r.id].value]
        for reply in changed:
            if (source := before[reply.id].source) != reply.source:
                asked = "assignment" if panel else "question"
                told = f"{asked} {reply.id!r} was answered on {source}, where the answer can be changed"
                raise BadInput(f"{told}; a file can change only answers that came from a file")
        with store.transaction() as connection:
            kept = [reply for reply in changed if reply.value != WITHDRAWN]
            ids = [reply.id for reply in changed]
            source = changed[0].source if changed else ""
            events = replies.replace_replies(connection, ids, source, kept) if changed else []
            append_events(connection, events)
        fresh = [r for r in given if r.id not in before and r.value != WITHDRAWN]
        return len(given), len(changed) + replies.add_replies(fresh)


def _import_yes_no(store: Store, read: VerdictFiles) -> tuple[int, int]:
    """Read the files to the end, then store all answers or none; lock the database only while storing."""
    with pause_collector():
        replies = chain.from_iterable(read.leave_contradicted(read_ahead(read)))
        return read.good, store.replies(panel=False).add_replies(replies)


def simulate_answers(
    study: Study,
    key: str | None = None,
    *,
    sensitivity: float = 1.0,
    specificity: float = 1.0,
    abstention: float = 0.0,
    seed: int | None = None,
) -> int:
    """Answer the open questions with simulated experts. Returns the number of answers.

    Parameters
    ----------
    key
        File with the true options; not needed if the study uses a preset, which has its own file.
    sensitivity, specificity, abstention
        Rates of `SimulatedExperts`.
    seed
        Seed of the errors; None for the study's seed.
    """
    from oversight.protocols.collect import SimulatedExperts

    if study.experts.is_panel:
        raise BadInput("`label simulate` gives answers to yes/no questions, but this study is a panel")
    with Store(study.store_url) as store:
        replies = store.replies(panel=False)
        check_drawn(study, store)
        gold = {name: found.truth for name, found in store.controls.read_gold_items().items()}
        truth = gold | study_truth(study, key, store.content.read_bare_items())
        asked, done = read_pending(study, store), set(replies.read_replies())
        experts = SimulatedExperts(
            truth, sensitivity, specificity, abstention, study.study.seed if seed is None else seed
        )
        questions = (q for q in asked if isinstance(q, Question) and q.id not in done)
        said = (answer for question in questions for answer in experts.answer([question]))
        return replies.add_replies(
            Response(a.question.id, a.expert, str(a.verdict), a.source, a.comment) for a in said
        )
