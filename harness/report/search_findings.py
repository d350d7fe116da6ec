"""Results of a search, which `oversight.agents.search` computes, and their formatting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from oversight.harness.types import Displayable, Estimate, HtmlTable, Standing, percent

_SCALES = {"accuracy": "accuracy", "q": "q (the share of refused options avoided, which is no accuracy)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedCandidate:
    """One candidate of a search.

    Attributes
    ----------
    slot
        Number of the proposal; negative for workflows of the library.
    note
        Description of the change.
    answers
        Number of answers on the selection items, including failed ones.
    standing
        Score of the candidate; None while no answer to a labelled item can be scored.
    on_front
        Whether the candidate is on the Pareto front of the candidates that answered all items: none of these
        is better in score or tokens and at least equal in both.
    raced_out
        Whether the candidate was dropped before it had answered all items.
    diff
        Lines of the unified diff from the parent's source; the source itself for workflows of the library.
    test
        Accuracy on the test items, if ``[search] parity`` is set and the search has a winner. In all other
        cases, and for a candidate without answers to test items, it is None.
    """

    id: str
    name: str
    slot: int
    op: str
    parents: tuple[str, ...]
    note: str
    answers: int
    standing: Standing | None
    on_front: bool
    raced_out: bool
    diff: tuple[str, ...]
    test: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedWinner:
    """The winner of a search, compared with the workflow or prompt from which the search started (the start).

    Attributes
    ----------
    naive, reported, sd, low, high, confirmed
        As in `oversight.agents.search.confirmation.Winner`.
    test, start_test
        Accuracies of winner and start on the test items, from experts' answers; None without test items, or
        if the answers do not determine an accuracy.
    difference
        Text of the paired comparison of winner and start on the test items, with its interval.
    untested
        Reason why the answers do not determine accuracies, or why there are none; empty if they do.
    truth, start_truth
        Accuracies of winner and start according to the sealed answer key; None if the key was not opened.
    unanswered
        Text that says on how many test items the winner, and the start, gave no option or failed.
    why
        Reason why the interval from selection and confirmation may not be valid; empty if no check fails.
    reused
        Text with the number of other searches whose winners were tested on some of the same test items; empty
        if there are none.
    tokens, start_tokens
        Tokens of the winner, and of the start, per selection item; None if the workflow has no score.
    """

    id: str
    name: str
    naive: float
    reported: float
    sd: float
    low: float
    high: float
    confirmed: float | None
    test: Estimate | None
    start_test: Estimate | None
    difference: str
    untested: str = ""
    truth: float | None = None
    start_truth: float | None = None
    unanswered: str = ""
    why: str = ""
    reused: str = ""
    tokens: float | None = None
    start_tokens: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SearchReport(Displayable):
    """The state and results of a search.

    Attributes
    ----------
    model, optimiser
        Names in study.toml of the model that answers, and of the model that writes programs; empty if there
        is none.
    splits
        Split → number of items.
    proposals, planned
        Number of proposals made so far, and number of proposals planned.
    refused, duplicates
        Reasons why proposals were refused, and number of proposals whose program existed already.
    a_a
        Text of the A/A comparison: the start compared with itself, by the test that compares winner and
        start.
    power
        Lines on three things: the statistical power of the labels, the experts' observed errors, and the
        items that were removed.
    spent
        Stage → number of tokens of answers. A call that several answers share is counted for each of them;
        failed attempts and answers about removed items are not counted.
    counted
        Number of tokens that a cap counts: those of all calls in the study since this search began.
    """

    study: str
    id: str
    created: str
    policy: str
    model: str
    optimiser: str
    seed: int
    fitness: str
    start: str
    splits: Mapping[str, int]
    proposals: int
    planned: int
    candidates: Sequence[SearchedCandidate]
    refused: Sequence[str]
    duplicates: int
    winner: SearchedWinner | None
    a_a: str
    power: Sequence[str]
    spent: Mapping[str, int]
    counted: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    picture: ClassVar[str] = "search"

    def __str__(self) -> str:
        """Return the winner compared with the start or, without a winner yet, the progress of the search."""
        if self.winner is not None:
            return "\n".join(winner_lines(self.winner, self.scale))
        return f"no winner yet: {self.proposals} of {self.planned} proposals"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per candidate; its scores are None while no answer can be scored."""
        scores = ("mean", "low", "high", "n_items", "p_best", "tokens")
        return [
            {"name": c.name, "id": c.id, "op": c.op, "slot": c.slot}
            | {score: getattr(c.standing, score, None) for score in scores}
            | {"on_front": c.on_front, "raced_out": c.raced_out}
            | {"start": c.id == self.start, "winner": self.winner is not None and c.id == self.winner.id}
            for c in self.candidates
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the tables that a notebook shows: details of the winner, and the candidates, best first."""
        scored = [(c.standing, c.name) for c in self.candidates if c.standing is not None]
        ranked = sorted(scored, key=lambda each: each[0].mean, reverse=True)
        rows = [(name, found.text(self.scale), f"{found.tokens:,.0f}") for found, name in ranked]
        columns = ("candidate", _SCALES[self.scale], "tokens per item")
        return (HtmlTable(notes=str(self).splitlines()[1:]), HtmlTable(columns=columns, rows=rows))

    @property
    def scale(self) -> str:
        """Scale of scores: ``"accuracy"``, or ``"q"``: the share of refuted options not predicted."""
        return "q" if self.fitness == "raw" else "accuracy"

    def by_id(self, name: str) -> SearchedCandidate:
        """Return the candidate whose id is `name`."""
        return next(c for c in self.candidates if c.id == name)


def search_text(report: SearchReport) -> str:
    """Return the text of a report: progress, power, A/A comparison, lineage of candidates, and the winner."""
    used = " · ".join(f"{name} {count:,}" for name, count in report.spent.items())
    lines = [
        f"search {report.id} of {report.created}: {report.policy}, seed {report.seed}, "
        f"fitness {report.fitness}",
        f"{report.proposals} of {report.planned} proposals, {len(report.refused)} refused, "
        f"{report.duplicates} duplicates",
        f"tokens: {report.counted:,} of all calls in the study since this search began, as a cap counts them",
        f"tokens of answers (a shared call counts for each answer; failed tries do not count): {used}",
        *report.power,
        f"A/A: {report.a_a}",
        "",
        f"lineage, {_SCALES[report.scale]} with about 95 % (* on the front of {report.scale} and tokens, "
        "~ dropped in the race):",
        *lineage_lines(report.candidates, report.scale),
        *(f"refused: {indent_rest(reason)}" for reason in report.refused),
    ]
    if report.winner is not None:
        lines += ["", *winner_lines(report.winner, report.scale)]
    tested = [
        f"test, {on_one_line(c.name)} [{c.id}]: {c.test}" for c in report.candidates if c.test is not None
    ]
    if tested:
        lines += ["", "every member on the test items:", *tested]
    return "\n".join(lines)


def indent_rest(reason: str) -> str:
    """Indent all lines of a reason except the first."""
    return reason.rstrip("\n").replace("\n", "\n    ")


def on_one_line(name: str) -> str:
    """Put a model-given name on one line, so that it cannot imitate lines of the report."""
    return " ".join(name.split("\n")).rstrip()


def lineage_lines(candidates: Sequence[SearchedCandidate], scale: str = "accuracy") -> list[str]:
    """Return one line per candidate, indented below its first parent."""
    children: dict[str, list[SearchedCandidate]] = {}
    for c in candidates:
        children.setdefault(c.parents[0] if c.parents else "", []).append(c)
    lines: list[str] = []

    def add(c: SearchedCandidate, depth: int) -> None:
        mark = "*" if c.on_front else "~" if c.raced_out else " "
        standing = "all its answers failed" if c.answers else "no answers yet"
        verdict = ""
        if (s := c.standing) is not None:
            standing = f"{s.text(scale)} on {s.n_items} items, {s.tokens:.0f} tokens{s.shares}"
            verdict = f", {s.verdict} (P {s.p_better:.2f})" if s.verdict else ""
        change = f": {_shorten(c.note.splitlines()[0])}" if c.note and c.parents else ""
        lines.append(f"{mark} {'  ' * depth}{on_one_line(c.name)} [{c.id}] {standing}{verdict}{change}")
        for child in children.get(c.id, ()):
            add(child, depth + 1)

    for root in children.get("", ()):
        add(root, 0)
    return lines


def _shorten(note: str) -> str:
    """Return a note of at most 60 characters; a note that is cut ends with an ellipsis."""
    return note if len(note) <= 60 else f"{note[:59].rstrip()}…"


def winner_lines(w: SearchedWinner, scale: str = "accuracy") -> list[str]:
    """Return lines on the winner: score corrected for selection, test results, and cost."""

    def said(score: float) -> str:  # clipped to [0, 1], as on the page of the search
        score = min(1.0, max(0.0, score))
        return f"q {score:.3f}" if scale == "q" else percent(score)

    confirmed = "" if w.confirmed is None else f"; on fresh items alone {said(w.confirmed)}"
    cost = ""
    if w.tokens is not None and w.start_tokens:
        cost = f"; {w.tokens:,.0f} tokens per question, {w.tokens / w.start_tokens:.1f} times the start's"
    name = f"winner: {on_one_line(w.name)} [{w.id}]: "
    chosen = (
        f"{said(w.reported)}, about 95 % {said(w.low)} – {said(w.high)}, corrected for being the best of "
        f"many (uncorrected {said(w.naive)}{confirmed})"
    )
    if w.test is None:
        lines = [f"{name}{chosen}{cost}"]
    else:
        test = w.test
        ends = f"{percent(max(0.0, test.low))} – {percent(min(1.0, test.high))}"
        share = f"{percent(test.clipped)} on the sealed test, {round(100 * test.level, 2):g} %"
        lines = [f"{name}{share} {ends}{cost}"]
        lines.append(f"on the items by which it was chosen (may be too high): {chosen}")
    if w.why:
        lines.append(f"the interval of the corrected accuracy may not hold: {on_one_line(w.why)}")
    if w.test is not None and w.start_test is not None:
        lines.append(f"test, winner: {w.test}")
        lines.append(f"test, start:  {w.start_test}")
    untested = f"not known: {on_one_line(w.untested)}" if w.untested else ""
    found = {"test, accuracies: ": untested, "test, difference: ": w.difference, "": w.reused}
    lines += [f"{name}{text}" for name, text in found.items() if text]
    if w.truth is not None and w.start_truth is not None:
        lines.append(f"by the opened key: winner {percent(w.truth)}, start {percent(w.start_truth)}")
    if w.unanswered:
        lines.append(f"test items without an option: {w.unanswered}")
    return lines
