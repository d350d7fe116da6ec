"""Push a study's questions to Label Studio, pull the answers, and close the campaign."""

from __future__ import annotations

import contextlib
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from oversight.harness import BadInput, ConfigError, LabelStudioError
from oversight.harness.analysis import DesignFreeze
from oversight.harness.config import Study
from oversight.harness.store import (
    SOURCE,
    LabellingRepository,
    Quarantined,
    Queue,
    QueuedTask,
    ReplyRepository,
    Store,
)
from oversight.harness.types import Question, is_erased
from oversight.protocols.collect.label_studio.accounts import (
    make_account_email,
    make_server_name,
    make_study_mark,
)
from oversight.protocols.collect.label_studio.adjudication import ASKED_AGAIN
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet, hash_task
from oversight.protocols.collect.label_studio.pull import Snapshot, pull_queue
from oversight.protocols.collect.label_studio.push import (
    Pushed,
    check_project,
    finish_project,
    push_queue,
    put_back_settings,
    remove_answered,
    remove_predictions,
)
from oversight.protocols.collect.label_studio.server.client import Client
from oversight.protocols.collect.label_studio.server.own_server import require_client
from oversight.protocols.collect.label_studio.server.transport import connect
from oversight.protocols.routing import (
    Expert,
    Pending,
    Roster,
    next_questions,
    order_queue,
    read_pending,
    read_present,
    read_roster,
)


def plan_queues(
    roster: Roster, questions: Sequence[Pending], known: Mapping[str, Queue], mark: str
) -> list[Queue]:
    """Return new queues for experts without a queue, and the queues of experts whose address changed.

    `mark` is the text from `make_study_mark` that identifies the study on the server.

    Raises
    ------
    DataError
        If two experts share an account, or a question belongs to somebody who is not on the roster.
    """
    emails: dict[str, str] = {}
    for expert in roster.experts:
        email = make_account_email(expert, mark, known[expert.name].email if expert.name in known else "")
        if email in emails.values():
            told = f"the address {email} of another expert, so answers could not be distinguished"
            raise roster.error("email", f"expert {expert.name!r} has {told}")
        emails[expert.name] = email
    changed = []
    for name in dict.fromkeys(question.expert for question in questions):
        if name not in emails:
            told = f"{name!r}, who is not in the roster; add this expert again"
            raise roster.error("name", f"questions were put to {told}")
        old = known.get(name)
        if old is None:
            changed.append(Queue(name, marker=secrets.token_hex(8), email=emails[name]))
        elif old.email != emails[name]:
            # Read all answers again, because the new account changes which answers count.
            changed.append(replace(old, email=emails[name], user_id=None, cursor=""))
    return changed


def plan_tasks(
    questions: Sequence[Pending], data: Mapping[str, Mapping[str, object]], queued: Sequence[QueuedTask]
) -> list[QueuedTask]:
    """Return tasks for the questions that are not queued yet, placed after each expert's queued tasks.

    Parameters
    ----------
    data
        Question id → data to send.
    """
    there, lengths = {task.question_id for task in queued}, Counter[str]()
    for task in queued:
        lengths[task.expert] = max(lengths[task.expert], task.place + 1)
    by_expert: dict[str, list[Pending]] = defaultdict(list)
    for question in questions:
        if question.id not in there:
            by_expert[question.expert].append(question)
    fresh = []
    for expert, asked in by_expert.items():
        first = lengths[expert]
        fresh += [
            QueuedTask(one.id, expert, first + place, hash_task(data[one.id]))
            for place, one in enumerate(order_queue(asked))
        ]
    return fresh


def check_experts(asked: Iterable[Pending], roster: Roster, *, asks_on: bool) -> None:
    """Raise an error if an expert would be asked about several options of one item.

    Parameters
    ----------
    asks_on
        Whether items are asked about repeatedly. If so, an expert with several classes is an error too.

    Raises
    ------
    DataError
        If there is such an expert. The message names the roster and the expert, and also the item if the
        expert would be asked about several of its options.
    """
    for expert in roster.experts:
        if asks_on and (len(expert.classes) > 1 or "*" in expert.classes):
            raise roster.error(
                "classes",
                f"expert {expert.name!r} judges {', '.join(expert.classes)}, but the sequential "
                "protocol allows one class per expert, because an expert who is asked again about an item "
                "could infer what others answered",
            )
    options: dict[tuple[str, str], int] = {}
    for question in asked:
        if not isinstance(question, Question):
            continue
        other = options.setdefault((question.expert, question.item_id), question.option)
        if other != question.option:
            raise roster.error(
                "classes",
                f"expert {question.expert!r} would be asked about the item {question.item_id!r} twice, for "
                f"the options {other} and {question.option}: this protocol allows one class per expert",
            )


def check_open(queues: Mapping[str, Queue], tasks: Sequence[QueuedTask]) -> None:
    """Raise an error if the project of any expert is closed.

    Raises
    ------
    ConfigError
        If a project is closed; the message names the expert.
    """
    if closed := next((task.expert for task in tasks if queues[task.expert].closed), None):
        raise ConfigError(f"the project of {closed!r} was closed: start a new study for new questions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Changes that a pull made to stored answers, and changes that it found and undid on the server.

    Attributes
    ----------
    new, changed, withdrawn
        Numbers of new, changed and withdrawn answers.
    answers
        Number of all answers from Label Studio.
    quarantined
        Number of annotations that do not count.
    requeued
        Number of questions sent again because their answers do not count.
    settings
        Expert → project settings that somebody changed and the pull restored.
    predictions
        Expert → number of predictions that somebody added to tasks and the pull removed.
    foreign
        Expert → number of tasks that no push sent; the next push removes them.
    """

    new: int
    changed: int
    withdrawn: int
    answers: int
    quarantined: int
    requeued: int = 0
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    predictions: Mapping[str, int] = field(default_factory=dict)
    foreign: Mapping[str, int] = field(default_factory=dict)


_SUMMED = ("new", "changed", "withdrawn")


def find_asked_again(labels: LabellingRepository, replies: ReplyRepository) -> dict[str, list[Quarantined]]:
    """Return the open questions that their experts no longer see: question id → quarantined annotations."""
    rows: dict[str, list[Quarantined]] = defaultdict(list)
    for row in labels.read_quarantine():
        if row.question_id is not None and not row.over:
            rows[row.question_id].append(row)
    again = sorted(name for name, found in rows.items() if {row.reason for row in found} & set(ASKED_AGAIN))
    answered = replies.find_values(again) if again else {}
    return {name: rows[name] for name in again if name not in answered}


class Campaign(contextlib.AbstractContextManager["Campaign"]):
    """A study on Label Studio, with one project per expert (or annotator of a panel).

    Parameters
    ----------
    study
        The study file.
    store
        Database of the study.
    patience
        Seconds for which reading is retried if the server does not answer.
    timeout
        Seconds to wait for one reply of the server.
    """

    def __init__(self, study: Study, store: Store, *, patience: float = 20.0, timeout: float = 120.0) -> None:
        self.study, self.store = study, store
        self.labels, self.replies = store.labelling, store.replies(panel=study.experts.is_panel)
        self.roster = read_roster(study.path(study.experts.roster))
        self.sheet = TaskSheet.of(study)
        self._patience, self._timeout = patience, timeout
        self._clients: dict[str, Client] = {}

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.close()

    def open_client(self, expert: str) -> Client:
        """Return a client for the server with an expert's project: the shared server, or the expert's own."""
        name = make_server_name(self.study.study.name, expert) if self.study.label_studio.isolated else ""
        if name not in self._clients:
            connection = connect(name or None)
            self._clients[name] = Client(connection, patience=self._patience, timeout=self._timeout)
        return self._clients[name]

    def find_email(self, expert: Expert) -> str:
        """Return an expert's login address."""
        queue = self.labels.read_queues().get(expert.name)
        return make_account_email(expert, make_study_mark(self.study), queue.email if queue else "")

    # --- push --------------------------------------------------------------------------------

    def push(self) -> dict[str, Pushed]:
        """Send every question that has no task on the server yet. Returns the results by expert.

        Raises
        ------
        BadInput
            If roster, items or page are not suitable; then nothing is sent.
        LabelStudioError
            If a server fails; another call continues where this one stopped.
        """
        with self._alone():
            # An erased expert has no account; their open questions wait until they are reassigned.
            asked = [a for a in read_pending(self.study, self.store) if not is_erased(a.expert)]
            items = self.store.read_shown_items()
            check_experts(asked, self.roster, asks_on=self.study.experts.statement.asks_on)
            data = {a.id: self.sheet.data(a, items[a.item_id]) for a in asked}
            queues = self.labels.read_queues()
            fresh = plan_queues(self.roster, asked, queues, make_study_mark(self.study))
            tasks = plan_tasks(asked, data, self.labels.read_tasks())
            check_open(queues | {queue.expert: queue for queue in fresh}, tasks)
            # An expert whose questions were all reassigned needs a client, which removes their tasks.
            left = {name for name, queue in queues.items() if not queue.closed}
            clients = {name: self.open_client(name) for name in left.union(a.expert for a in asked)}
            for client in set(clients.values()):
                # Check the token first, because a wrong token must fail before anything is written.
                client.check_token()
            for queue in fresh:
                self.labels.save_queue(queue)
            self.labels.add_tasks(tasks)
            answered = self.replies.read_replies()
            return {
                name: push_queue(clients[name], self.labels, queue, self.sheet, data, answered)
                for name, queue in self.labels.read_queues().items()
                if not queue.closed
            }

    def push_next(self) -> int:
        """Draw and send the next questions of a sequential protocol. Returns their number."""
        if not self.study.experts.statement.asks_on:
            return 0
        items = self.store.content.read_items()
        drawn = next_questions(self.study, self.store, read_present(self.study, self.store), items)
        if not drawn:
            return 0
        with self.store.together(exclusive=True):
            freeze = DesignFreeze(self.study, self.store)
            freeze.end(new := self.store.content.add_questions(drawn))
        if new:
            self.push()
        return new

    # --- pull --------------------------------------------------------------------------------

    def pull(self, *, full: bool = False, requeue: bool = True) -> Difference:
        """Fetch the answers that changed since the last pull, or all answers.

        Settings of the Label Studio projects that somebody changed are restored, and predictions that
        somebody added there are removed.

        Parameters
        ----------
        full
            Whether to read all answers again instead of only changed ones.
        requeue
            Whether to send questions again if their answers do not count.

        Raises
        ------
        BadInput
            If no question was pushed yet.
        LabelStudioError
            If a server fails, or a project is missing or its page was changed; stored data remain.
        """
        found = self._pull(full=full)
        return replace(found, requeued=self.requeue()) if requeue else found

    def _pull(self, *, full: bool, is_finished: bool = False) -> Difference:
        """Fetch answers. Unless the projects are marked as finished, undo what others changed in them."""
        before, settings = self._pulled(), dict[str, tuple[str, ...]]()
        predictions, foreign = dict[str, int](), dict[str, int]()
        with self._alone():
            queues = [q for q in self._pushed() if not q.closed]
            known = Snapshot(self.study, self.store)
            clients = {q.expert: self.open_client(q.expert) for q in queues}
            ids: dict[Client, list[int]] = defaultdict(list)
            for queue in queues:
                ids[clients[queue.expert]].append(queue.project_id or 0)
            projects = {client: client.read_projects(given) for client, given in ids.items()}
            for queue in queues:
                name, client, page = queue.expert, clients[queue.expert], self.sheet.page
                project = check_project(client, queue, projects[client])
                looked, pulled, foreign[name] = pull_queue(client, queue, project, page, known, full=full)
                self.labels.apply_look(looked, pulled, self.replies)
                if not is_finished:
                    remove_answered(client, self.labels, queue, known.elsewhere)
                    # Repair last, so that answers given before the repair are already stored.
                    meant = self.sheet.instructions
                    settings[name] = put_back_settings(client, self.labels, queue, project, meant)
                    predictions[name] = remove_predictions(client, self.labels, queue, project)
        after = self._pulled()
        both = before.keys() & after.keys()
        return Difference(
            new=len(after.keys() - before.keys()),
            changed=sum(before[q] != after[q] for q in both),
            withdrawn=len(before.keys() - after.keys()),
            answers=len(after),
            quarantined=len(self.labels.read_quarantine()),
            settings={name: changed for name, changed in settings.items() if changed},
            predictions={name: number for name, number in predictions.items() if number},
            foreign={name: number for name, number in foreign.items() if number},
        )

    def requeue(self) -> int:
        """Send questions again if their answers do not count and their expert no longer sees the questions.

        The questions' tasks are deleted and sent again; their annotations stay in the study's database.
        """
        with self._alone():
            again = find_asked_again(self.labels, self.replies)
            queues = {q.expert: q for q in self._pushed() if not q.closed}
            tasks = {task.question_id: task for task in self.labels.read_tasks()}
            lost = {
                name: rows for name, rows in again.items() if name in tasks and tasks[name].expert in queues
            }
            for name in lost:
                if (number := tasks[name].task_id) is not None:
                    self.open_client(tasks[name].expert).drop_task(number)
            self.labels.ask_again(lost)
        if lost:
            self.push()
        return len(lost)

    def close(self, *, delete: bool = False) -> tuple[Difference, dict[str, int]]:
        """Pull a last time and end the campaign; later answers do not count.

        Returns what the last pull changed, and the number of open questions by expert.

        Titles and instructions of the projects then say that the campaign has ended, because the Community
        edition cannot keep an expert from answering.

        Parameters
        ----------
        delete
            Whether to delete the projects on the server; the study's database keeps all answers.
        """
        found = self._pull(full=True)
        left = [queue for queue in self._pushed() if not queue.closed]
        if not delete:
            for queue in left:
                finish_project(self.open_client(queue.expert), queue, self.study.study.name)
            # Pull answers given before the projects were marked as finished.
            last = self._pull(full=False, is_finished=True)
            sums = {name: getattr(found, name) + getattr(last, name) for name in _SUMMED}
            found = replace(found, **sums, answers=last.answers, quarantined=last.quarantined)
        with self._alone():
            for queue in left:
                if delete:
                    self.open_client(queue.expert).delete_project(queue.project_id or 0)
                self.labels.save_queue(replace(self.labels.read_queues()[queue.expert], closed=True))
        answered = self.replies.read_replies().keys()
        stayed = Counter(a.expert for a in read_pending(self.study, self.store) if a.id not in answered)
        return found, dict(stayed)

    # --- helpers -----------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether the campaign is closed."""
        return all(queue.closed for queue in self._pushed())

    def _pushed(self) -> list[Queue]:
        queues = list(self.labels.read_queues().values())
        if not queues:
            raise BadInput("nothing was pushed yet; send the questions with: oversight label push")
        if unfinished := [q.expert for q in queues if q.project_id is None]:
            raise BadInput(
                f"the questions of {', '.join(unfinished)} were not sent; continue with: oversight label push"
            )
        return queues

    def _pulled(self) -> dict[str, str]:
        return {i: r.value for i, r in self.replies.read_replies().items() if r.source == SOURCE}

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Allow only one push or pull of a study at a time, so that no question is sent twice."""
        # Refuse a copied or moved database, because it must not change the server.
        self.store.marks.refuse_mark()
        require_client()
        from filelock import FileLock, Timeout

        try:
            lock = FileLock(Path(self.study.folder, ".label-studio.lock"), timeout=0).acquire()
        except Timeout:
            raise LabelStudioError(
                "another `push`, `pull` or `watch` of this study is running: wait until it has ended"
            ) from None
        with lock:
            yield
