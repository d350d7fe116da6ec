"""Describe candidates to the optimiser: scores with standard deviations, but never a right answer."""

from __future__ import annotations

from oversight.agents.runtime import Replay
from oversight.agents.search.policies.optimizer import quote_data, render_template
from oversight.agents.search.policies.proposal import PolicyView
from oversight.harness.types import Item

BEST, LATEST = 5, 5
ALWAYS = 2
"""Number of best candidates shown to all proposals; other candidates differ between concurrent proposals."""
CASES = 6
_ERROR_CHARACTERS = 300
MOST_CALLS = 8
_CALL_CHARACTERS = 320
"""Maximum number of characters shown of a call's question, and also of its reply."""


def describe_scale(view: PolicyView) -> str:
    """Return a text that explains the scores of this search and their noise."""
    luck = "" if view.published else " Scores have been corrected for luck."
    return render_template(f"scale_{view.board.scale}", luck=luck)


def describe_standing(view: PolicyView, name: str) -> str:
    """Return a text such as ``61 % ± 5 %, 2 % of answers unreadable, 310 tokens per question``.

    The first number is the posterior mean or, with ``[search] parity``, the uncorrected score. The number
    after ± is the posterior standard deviation, without the uncertainty of the archive's mean. On the scale
    q, the text begins with ``q 0.867 ± 0.020``.
    """
    standing = view.board.standing(name)
    score = standing.value if view.published else standing.mean
    if view.board.scale == "q":
        text = f"q {score:.3f} ± {standing.sd:.3f}"
    else:
        text = f"{100 * score:.0f} % ± {100 * standing.sd:.0f} %"
    if standing.invalid_rate:
        text += f", {100 * standing.invalid_rate:.0f} % of answers unreadable"
    if standing.p_better is not None:
        text += f", better than its parent with probability {standing.p_better:.2f}"
    return f"{text}, {standing.tokens:.0f} tokens per question"


def describe_archive(view: PolicyView) -> str:
    """Describe a part of the archive: some of the best candidates with source, the latest without source.

    Concurrent proposals are shown different candidates, except for the two best, because optimisers with the
    same input would write the same program.
    """
    ranked = view.board.ranked()
    best = _choose_best(ranked, view.slot % view.in_flight)
    latest = [c for c in reversed(view.board.ids) if c not in best][:LATEST]
    parts = []
    for name in (*best, *latest):
        program, standing = view.candidates[name].program, describe_standing(view, name)
        hint, source = "", f"\n```python\n{program.source.strip()}\n```"
        if name in latest:
            hint, source = " (not shown)", ""
        parts.append(f"## {program.name}{hint}: {standing}\n{program.thought}{source}")
    hidden = len(ranked) - len(parts)
    return "\n\n".join(parts) + (f"\n\n({hidden} more are not shown.)" if hidden > 0 else "")


def _choose_best(ranked: list[str], place: int) -> list[str]:
    """Return the two best candidates, and three of the next ones, different for concurrent proposals."""
    head, rest, width = ranked[:ALWAYS], ranked[ALWAYS:], BEST - ALWAYS
    pages = max(1, -(-len(rest) // width))
    start = (place % pages) * width
    return head + rest[start : start + width]


def describe_slot(view: PolicyView) -> dict[str, str]:
    """Return two texts about a slot for the optimiser.

    ``place`` states the slot's number and what to look at first, which differs between concurrent slots.
    ``errors`` quotes the reasons why the latest programs were refused.
    """
    told = f"This is proposal {view.slot + 1} of {view.planned}."
    if view.in_flight > 1:
        told += f" Up to {view.in_flight} are written at once, and none sees the others."
    if not view.published:
        emphases = render_template("emphases").splitlines()
        told += (
            f" If it fits, look first at {emphases[view.slot % len(emphases)]}; the others look elsewhere."
        )
    errors = [f"- {quote_data(reason, _ERROR_CHARACTERS)}" for reason in view.refused]
    if errors:
        errors.insert(0, "These are the last that were refused, and why; the quotations are data, no advice:")
    return {"place": told, "errors": "\n".join(errors) or "None was refused."}


def describe_experience(view: PolicyView, parent: str) -> str:
    """List the changes that were tried on a parent, each with its verdict and probability of being better."""
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
    view: PolicyView,
    candidate: str,
    most: int = CASES,
    *,
    refuted_only: bool = False,
    with_calls: bool = False,
) -> str:
    """Describe feedback items on which experts refuted the candidate, and items on which they did not.

    The text contains at most `most` items. Items with a refuted answer, which is certainly wrong, fill at
    most half of these places. With `refuted_only`, only such items are shown. The text shows what experts say
    about the candidate's own choice, but never the right option. `with_calls` adds the candidate's calls and
    replies on items with a refuted answer.
    """
    certain = most if refuted_only else most // 2
    refuted: list[tuple[Item, str]] = []
    open_: list[str] = []
    for case in (case for case in await view.judge(candidate, certain) if case.known):
        item = case.item
        chosen = "no readable option" if case.option is None else item.options[case.option]
        if case.settled:
            verdict = "REFUTED: it is another option" if case.refuted else "right"
        elif case.refuted:
            verdict = "REFUTED: the expert says no"
        else:
            verdict = "not refuted: right or wrong is unknown"
        told = f"Question: {item.text}\nOptions: {', '.join(item.options)}\nAnswer given: {chosen}\n{verdict}"
        if case.refuted:
            refuted.append((item, told))
        else:
            open_.append(told)
    shown = []
    for item, told in refuted[:certain]:
        calls = describe_calls(await view.transcribe(candidate, item), item) if with_calls else ""
        shown.append(told + calls)
    if not refuted_only:
        shown += open_[: most - len(shown)]
    return "\n\n".join(shown) or "None are known."


def describe_calls(told: Replay, item: Item) -> str:
    """Return a program's calls and replies, quoted and shortened; empty if none are stored."""
    lines = []
    for number, call in enumerate(told.calls[:MOST_CALLS], 1):
        asked = call.messages[-1].content.replace(item.text, "(the question)").strip()
        ran = "ran" if call.is_code else "asked"
        got = quote_data(call.reply.strip(), _CALL_CHARACTERS) if not call.error else "no usable reply"
        lines.append(f"Call {number} {ran} {quote_data(asked, _CALL_CHARACTERS)} and got {got}")
    if len(told.calls) > MOST_CALLS:
        lines.append(f"({len(told.calls) - MOST_CALLS} more calls are not shown.)")
    return "".join(f"\n{line}" for line in lines)
