"""Candidates as a proposer is told of them: numbers with their noise, and never a right answer."""

from __future__ import annotations

from agents.search.policies.proposal import PolicyView
from harness.types import Standing

BEST, LATEST = 5, 5
CASES = 6


def describe_standing(standing: Standing) -> str:
    """``61 % ± 5 %, 2 % of answers unreadable, 310 tokens per question``; ± beside the other candidates."""
    text = f"{100 * standing.mean:.0f} % ± {100 * standing.sd:.0f} %"
    if standing.invalid_rate:
        text += f", {100 * standing.invalid_rate:.0f} % of answers unreadable"
    if standing.p_better is not None:
        text += f", better than its parent with probability {standing.p_better:.2f}"
    return f"{text}, {standing.tokens:.0f} tokens per question"


def describe_archive(view: PolicyView) -> str:
    """The archive, bounded: the best with their source, the latest by name and number only."""
    ranked = view.board.ranked()
    best = ranked[:BEST]
    latest = [c for c in reversed(view.board.ids) if c not in best][:LATEST]
    parts = []
    for name in (*best, *latest):
        program, standing = view.candidates[name].program, describe_standing(view.board.fitness[name])
        hint, source = "", f"\n```python\n{program.source.strip()}\n```"
        if name in latest:
            hint, source = " (not shown)", ""
        parts.append(f"## {program.name}{hint}: {standing}\n{program.thought}{source}")
    hidden = len(ranked) - len(parts)
    return "\n\n".join(parts) + (f"\n\n({hidden} more are not shown.)" if hidden > 0 else "")


def describe_experience(view: PolicyView, parent: str) -> str:
    """What was tried on a parent: better, worse or undecided, each with its probability."""
    advice = {"worse": "do not repeat it", "better": "build on it", "undecided": "not known to matter"}
    lines = []
    for name in view.board.ids:
        candidate = view.candidates[name]
        if parent in candidate.parents:
            compared = view.board.compare(name, parent)
            lines.append(
                f"- {candidate.note or candidate.program.name}: {compared.verdict} "
                f"(P = {compared.p_better:.2f}); {advice[compared.verdict]}"
            )
    return "\n".join(lines) or "Nothing yet."


async def describe_cases(
    view: PolicyView, candidate: str, most: int = CASES, *, refuted_only: bool = False
) -> str:
    """Feedback items that experts refuted, all of them certain errors, and as many that they did not.

    What is shown is what experts said of the candidate's own choice; the right option never is.
    """
    judged = await view.judge(candidate)
    refuted: list[str] = []
    open_: list[str] = []
    shuffled = [judged[i] for i in view.rng.permutation(len(judged))]
    for case in (case for case in shuffled if case.known):
        item = case.item
        chosen = "no readable option" if case.option is None else item.options[case.option]
        if case.settled:
            verdict = "REFUTED: it is another option" if case.refuted else "right"
        elif case.refuted:
            verdict = "REFUTED: the expert says no"
        else:
            verdict = "not refuted: right or wrong is unknown"
        (refuted if case.refuted else open_).append(
            f"Question: {item.text}\nOptions: {', '.join(item.options)}\nAnswer given: {chosen}\n{verdict}"
        )
    shown = refuted[: most if refuted_only else most // 2]
    if not refuted_only:
        shown += open_[: most - len(shown)]
    return "\n\n".join(shown) or "None are known."
