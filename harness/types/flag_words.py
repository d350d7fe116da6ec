"""Flags in words: what a reader must know of a number, as a sentence.

A flag is a name, with a remark after a colon where it has one: ``"out_of_range"``,
``"passed_over: 3 of 200"``.
"""

from __future__ import annotations

import re

_UNRESOLVED = re.compile(r"(\d+), value within \[([\d.]+), ([\d.]+)\]")

FLAG_WORDS = {
    # of estimates and their intervals
    "out_of_range": "the estimate as computed lies outside the possible range; it is cut off for display",
    "value_outside_interval": (
        "the estimate lies outside its own interval: estimator and interval weigh the answers differently"
    ),
    "lattice_too_large": "too many answers for the exact interval; the score interval stands in",
    "contradicts_model": (
        "the answers fit no accuracy at this level, so that the interval is of a higher one; see the checks"
    ),
    "degenerate_variance": (
        "answers of a kind are all alike; the standard error is that of half an answer less"
    ),
    "all_unreadable": "no labelled item has a readable answer; an unreadable one counts as wrong",
    "stratified": "made of several strata or numbers of options, each by its share",
    "conditioned_on_questions": (
        "several questions were asked about an item; the estimate takes the options asked about as given"
    ),
    "never_differ": "the models agree on every item; the interval says how rarely they may differ",
    "nothing_known_where_they_differ": (
        "no answer tells which of the models is right where they differ; only how often they differ is known"
    ),
    "allows_for_missing": "the interval holds whatever the unanswered questions would have been answered",
    "missing": "{}; the interval holds whatever is hidden there",
    "answering_rates": (
        "experts answered between {} of the questions about an option; answers count in inverse proportion"
    ),
    "passed_over": (
        "{} questions are open although their experts answered later ones; they count like unsure answers"
    ),
    "open_items": "{} items wait for an answer and are taken as right or wrong, whichever is worse",
    "partial": "the collection is not finished: {}",
    "joint": "the intervals of all models hold together: {}",
    "unresolved": "{} items are not resolved: an expert was silent",
    "sensitivity": "experts' P(yes | it is), as estimated beside: {}",
    "specificity": "experts' P(no | it is not), as estimated beside: {}",
    "votes_worth": "the interval is as narrow as from {}",
    "second_questions": "second questions: {}; all other estimates are of first answers alone",
    "second_worth": "the interval is as narrow as from {}",
    "judge_saved": "the judge saved {}",
    "judge_worth": "what the judge saved is {}",
    "split": "answers in the half that weights were taken from: {}",
    # of panels
    "single_label_items": "items with a single rating: {}",
    "learned_aggregate": "the aggregate was learned from the ratings: {}",
    "fixed_panel": "the annotators are a fixed panel: {}",
    "assumption_1_fails": "assumption 1 fails: {}",
    "assumption_2_fails": "assumption 2 fails: {}",
    "few_items": "fewer than 30 items: an accuracy of 80 % can be chance, read the intervals",
    "few_clusters": "fewer than 30 clusters of items: an accuracy of 80 % can be chance, read the intervals",
    "no_interval": "no interval: {}",
    "few_people": "people whose ratings the figures rest on: {}",
}
"""Name of a flag → its sentence, with a place for the remark."""


def explain_flag(flag: str) -> str:
    """A flag as a sentence; one that is not known stays as it is.

    Examples
    --------
    >>> explain_flag("missing: 3 of 200 items failed or had no answer")
    '3 of 200 items failed or had no answer; the interval holds whatever is hidden there'
    >>> explain_flag("unresolved: 4, value within [0.5, 0.54]")
    '4 items are not resolved: an expert was silent; they could move the estimate to 50.0 % – 54.0 %'
    """
    name, _, remark = flag.partition(": ")
    if name not in FLAG_WORDS:
        return flag
    bounds = _UNRESOLVED.fullmatch(remark) if name == "unresolved" else None
    if bounds:
        number, least, most = bounds.groups()
        could = f"they could move the estimate to {100 * float(least):.1f} % – {100 * float(most):.1f} %"
        return f"{explain_flag(f'unresolved: {number}')}; {could}"
    return FLAG_WORDS[name].format(remark)
