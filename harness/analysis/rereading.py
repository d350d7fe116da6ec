"""Read stored replies again with the current version's reader, and report or store the changes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from string import Template
from typing import Any

from oversight.harness.config import RunSpec, Study
from oversight.harness.errors import BadInput
from oversight.harness.llm import ReplyForm, Step, read_open_answer, read_reply, reply_form_of
from oversight.harness.store import PORTION, Store, split_into_batches
from oversight.harness.types import Item, Prediction, PredictionStatus, Source

_SHOWN = 10
_NO_RUN = "no model was run yet; see: oversight run --help"


@dataclass(slots=True)
class RunRereading:
    """Changes found by reading a run's replies again.

    Attributes
    ----------
    name, run
        Name and id of the run.
    answers
        Number of replies that were read again.
    left
        Number of answers that were not read again, because the call failed, a content filter stopped the
        reply, or the answer comes from a workflow, another program or a log.
    changes
        Number of changes of each kind. The keys are ``"unreadable → option"``, ``"option → unreadable"`` and
        ``"option → another option"``.
    noted
        Number of answers for which only the step or the reason changed.
    examples
        The first changes, each with the item's id, both readings and the reply.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> [run.name for run in reread_study(read_study("study.toml"))]
    ['careful', 'quick']
    """

    name: str
    run: str
    answers: int = 0
    left: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    noted: int = 0
    examples: list[dict[str, str]] = field(default_factory=list)

    def count(self, item: Item, before: Prediction, after: Prediction) -> None:
        """Count a changed reading. The first ten changes of an option or a status are kept as examples."""
        if before.option == after.option and before.status == after.status:
            self.noted += 1
            return
        was, becomes = ("unreadable" if p.option is None else "option" for p in (before, after))
        kind = f"{was} → {'another ' if was == becomes == 'option' else ''}{becomes}"
        self.changes[kind] = self.changes.get(kind, 0) + 1
        if len(self.examples) < _SHOWN:
            old, new = (_describe(item, p) for p in (before, after))
            self.examples.append({"item": item.id, "before": old, "after": new, "reply": before.raw})


def reread_study(
    study: Study, name: str | None = None, pattern: str | None = None, *, write: bool = False
) -> list[RunRereading]:
    """Read the stored replies of a study's runs again with the current version's reader.

    Parameters
    ----------
    name
        The model whose runs are read; None for all.
    pattern
        Pattern that finds the answer in a reply, instead of the study's pattern. If it is given, replies of
        imported tables are read again even if another program has read them.
    write
        Whether to store the new readings.

    Raises
    ------
    BadInput
        If no such model was run.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> [run.name for run in reread_study(read_study("study.toml"))]
    ['careful', 'quick']
    """
    with Store(study.store_url) as store:
        runs = [run for run in store.runs.read_runs() if name in (None, run["name"])]
        if not runs:
            known = sorted({run["name"] for run in store.runs.read_runs()})
            raise BadInput(f"no run of {name!r}; there are: {', '.join(known)}" if known else _NO_RUN)
        names = {run["id"]: run["name"] for run in runs}
        with store.locks.hold(names) if write else nullcontext():
            return [_reread(store, study, run, pattern, write=write) for run in runs]


def _reread(
    store: Store, study: Study, run: dict[str, Any], pattern: str | None, *, write: bool
) -> RunRereading:
    found = RunRereading(run["name"], run["id"])
    asked = _asked(study, run["spec"], pattern)
    changed: list[tuple[str, Prediction]] = []
    moved: list[str] = []
    items = {item.id: item for item in store.content.read_items()}
    for before in store.runs.read_samples(run["id"]):
        if asked is None or not _is_ours(before, pattern):
            found.left += 1
            continue
        found.answers += 1
        item = items[before.item_id]
        after = _read(item, before, asked)
        if after != before:
            found.count(item, before, after)
            changed.append((run["id"], after))
        if after.option != before.option and not after.probabilities:
            moved.append(item.id)
    if write:
        for portion in split_into_batches(changed, PORTION):
            store.runs.store_predictions(portion)
        for ids in split_into_batches(moved, PORTION):  # stored judge vectors refer to the former options
            store.runs.drop_vectors(run["id"], ids)
    return found


def _asked(study: Study, spec: dict[str, Any], pattern: str | None) -> ReplyForm | None:
    """Return the form in which a run's answers were requested; None if its replies cannot be read again.

    A workflow's replies cannot be read again, because the workflow computes its answer from several replies.
    Replies in another tool's log cannot be read again, because the log may not say in which order the options
    were shown; such a log must be imported again.
    """
    pattern = pattern or study.prompt.pattern
    if str(spec["endpoint"]).startswith("import "):
        return ReplyForm(pattern=pattern) if spec["endpoint"] == "import table" else None
    if "text" not in Template(spec["template"]).get_identifiers():
        return None
    return reply_form_of(RunSpec.model_validate_json(json.dumps({**spec, "pattern": pattern})))


def _is_ours(prediction: Prediction, pattern: str | None) -> bool:
    """Whether a stored reply can be read again. If another program read it, a `pattern` is needed."""
    if prediction.status is PredictionStatus.FAILED or prediction.reason == "content filter":
        return False
    is_foreign = prediction.source is Source.IMPORT and prediction.step in ("", Step.LOG)
    return bool(prediction.raw) and not (is_foreign and pattern is None)


def _read(item: Item, before: Prediction, asked: ReplyForm) -> Prediction:
    is_cut = before.status is PredictionStatus.TRUNCATED
    is_imported = before.source is Source.IMPORT  # letters in imported logs name options in source order
    order = range(len(item.options)) if is_imported else item.permutation
    if item.is_statement:
        read = read_open_answer(before.raw, cut=is_cut)
    else:
        read = read_reply(before.raw, item.options if is_imported else item.shown_options, asked, cut=is_cut)
    if read.option is None:
        status = PredictionStatus.TRUNCATED if is_cut else PredictionStatus.UNREADABLE
        reason = before.reason if is_cut else read.reason
        after = replace(before, option=None, status=status, reason=reason, confidence=None, step="")
    else:
        option = order[read.option]
        kept = before.confidence if option == before.option else None
        if read.probabilities:
            kept = read.probabilities[read.option]
        after = replace(
            before, option=option, status=PredictionStatus.OK, reason="", confidence=kept, step=str(read.step)
        )
    if after == before or not read.probabilities:
        return after
    return replace(after, probabilities=item.in_source_order(read.probabilities))


def _describe(item: Item, prediction: Prediction) -> str:
    if prediction.option is not None:
        return item.options[prediction.option]
    return f"unreadable ({prediction.reason})" if prediction.reason else "unreadable"
