"""What a proposer is told about candidates: numbers with their noise, and never a right answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.search.fitness import Fitness, score_items
from harness.types import PredictionStatus

if TYPE_CHECKING:
    from agents.search.archive import Candidate
    from agents.search.loop import PolicyView

BEST, LATEST = 5, 5
CASES = 6


def describe_standing(fitness: Fitness) -> str:
    """``61 % ± 5 %, 2 % of answers unreadable, 310 tokens per question``; ± beside the other candidates."""
    text = f"{100 * fitness.mean:.0f} % ± {100 * fitness.sd:.0f} %"
    if fitness.invalid_rate:
        text += f", {100 * fitness.invalid_rate:.0f} % of answers unreadable"
    if fitness.parent is not None:
        text += f", better than its parent with probability {fitness.parent.p_better:.2f}"
    return f"{text}, {fitness.tokens:.0f} tokens per question"


def describe_archive(view: PolicyView) -> str:
    """The archive, bounded: the best with their source, the latest by name and number only."""
    ranked = view.board.ranked()
    best = ranked[:BEST]
    latest = [c for c in reversed(view.board.ids) if c not in best][:LATEST]
    parts = []
    for name in best:
        candidate = view.candidate(name)
        parts.append(
            f"## {candidate.program.name}: {describe_standing(view.board.fitness[name])}\n"
            f"{candidate.program.thought}\n```python\n{candidate.program.source.strip()}\n```"
        )
    for name in latest:
        candidate = view.candidate(name)
        parts.append(
            f"## {candidate.program.name} (not shown): {describe_standing(view.board.fitness[name])}\n"
            f"{candidate.program.thought}"
        )
    hidden = len(ranked) - len(parts)
    return "\n\n".join(parts) + (f"\n\n({hidden} more are not shown.)" if hidden > 0 else "")


def describe_experience(view: PolicyView, parent: str) -> str:
    """What was tried on a parent: better, worse or undecided, each with its probability."""
    lines = []
    for name in view.board.ids:
        candidate = view.candidate(name)
        if parent not in candidate.parents or name not in view.board.fitness:
            continue
        compared = view.board.compare(name, parent)
        advice = {"worse": "do not repeat it", "better": "build on it", "undecided": "not known to matter"}
        lines.append(
            f"- {candidate.note or candidate.program.name}: {compared.verdict} "
            f"(P = {compared.p_better:.2f}); {advice[compared.verdict]}"
        )
    return "\n".join(lines) or "Nothing yet."


async def describe_cases(
    view: PolicyView, candidate: Candidate, most: int = CASES, *, refuted_only: bool = False
) -> str:
    """Feedback items that experts refuted, all of them certain errors, and as many that they did not.

    What is shown is what experts said of the candidate's own choice; the right option never is.
    """
    items = view.state.items("feedback")
    if not items:
        return "None are known."
    labelled = view.state.labels["feedback"]
    await view.state.answer(candidate, items, 0)
    scores = score_items(view.state.archive.matrix([candidate.id], items), labelled, "transformed")[0]
    answers = {p.item_id: p for p in view.state.archive.predictions(candidate.id, items)}
    refuted: list[str] = []
    open_: list[str] = []
    for i in view.rng.permutation(len(items)):
        item, prediction = items[i], answers[items[i].id]
        if prediction.status is PredictionStatus.FAILED or not labelled.answered[i]:
            continue
        chosen = "no readable option" if prediction.option is None else item.options[prediction.option]
        wrong = prediction.option is None or scores[i] < (1 if labelled.truth[i] >= 0 else 0.5)
        verdict = "REFUTED: the expert says no" if wrong else "not refuted: right or wrong is unknown"
        if labelled.truth[i] >= 0:
            verdict = "REFUTED: it is another option" if wrong else "right"
        (refuted if wrong else open_).append(
            f"Question: {item.text}\nOptions: {', '.join(item.options)}\nAnswer given: {chosen}\n{verdict}"
        )
    shown = refuted[: most // 2 if not refuted_only else most]
    if not refuted_only:
        shown += open_[: most - len(shown)]
    return "\n\n".join(shown) or "None are known."
