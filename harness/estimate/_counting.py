"""Count one model's hits and misses in every stratum of a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import NotIdentified
from harness.estimate.component import Component, effective_options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.estimate._design import Bools, Design, Ints


@dataclass(frozen=True, slots=True)
class Counted:
    """What one model has in one stratum; fields as in `tally.Tally`."""

    hits: Component
    misses: tuple[Component, ...]
    n_yes: int
    n_no: int
    n_unreadable: int
    n_failed: int


def count_groups(design: Design, y: Ints) -> list[Counted]:
    """Count predictions `y` (−1 unreadable, −2 failed) in every group.

    Raises
    ------
    NotIdentified
        If an option other than the prediction was certain to be asked about and was refused: the
        answer then says nothing about the prediction, and no weighting can make it.
    """
    labelled = design.has_yes | (design.n_no > 0)
    on_label = y[design.item]
    hit = on_label == design.option
    settled, success, m = _trials(design, hit, y)
    readable = labelled & (y >= 0)
    G = design.K.size
    width = int(m.max(initial=0)) + 1
    # one cell per group, number of refusals (0 where the label settles the prediction) and outcome
    cell = (design.group.astype(np.int64) * width + np.where(settled, 0, m)) * 2 + success
    trials = np.bincount(cell[readable], minlength=G * width * 2).reshape(G, width, 2)
    unreadable = _by_group(design, labelled & (y == -1))
    failed = _by_group(design, labelled & (y == -2))
    used = on_label > -2
    yes = np.bincount(design.group[design.item[used & design.yes]], minlength=G)
    no = np.bincount(design.group[design.item[used & ~design.yes]], minlength=G)
    return [
        Counted(
            _component(2, trials[g, 0]),
            tuple(
                _component(effective_options(int(design.K[g]), k), trials[g, k])
                for k in range(1, width)
                if trials[g, k].any()
            ),
            int(yes[g]),
            int(no[g]),
            int(unreadable[g]),
            int(failed[g]),
        )
        for g in range(G)
    ]


def _trials(design: Design, hit: Bools, y: Ints) -> tuple[Bools, Bools, Ints]:
    """Of every item: does its label settle the prediction, did it succeed, options asked in vain.

    By answers, a yes settles; a refused prediction is a failure among the refusals. By questions,
    an asked prediction settles, and a yes for another option is a failure among the misses.
    """
    hit_yes = np.zeros(y.size, np.bool_)
    hit_no = np.zeros(y.size, np.bool_)
    hit_yes[design.item[hit & design.yes]] = True
    hit_no[design.item[hit & ~design.yes]] = True
    by_questions = np.array([s == "questions" for s in design.split])
    settled = design.has_yes
    success = np.where(settled, hit_yes, ~hit_no)
    m = design.n_no
    if by_questions.any():
        mine = by_questions[design.group]
        q_settled = hit_yes | hit_no | (design.certain & design.has_yes)
        _check_identified(design, mine & (y >= 0) & ~q_settled)
        settled = np.where(mine, q_settled, settled)
        success = np.where(mine, np.where(q_settled, hit_yes, ~design.has_yes), success)
        m = np.where(mine, m + design.has_yes, m)
    return settled, success, m


def _check_identified(design: Design, open_items: Bools) -> None:
    """Refuse items whose questions could only have been other ones, unless all others were refused."""
    K = design.K[design.group]
    stuck = np.flatnonzero(open_items & design.certain & (design.n_no < K - 1) & (design.n_no > 0))
    if stuck.size:
        i = int(stuck[0])
        raise NotIdentified(
            f"labels: item {design.names[i]!r} and {stuck.size - 1} more were certain to be asked about "
            "options other than this model's prediction (propensity 1), and those were refused: "
            "nothing follows for this model; ask about its predictions, too"
        )


def _by_group(design: Design, chosen: Bools) -> NDArray[np.int64]:
    return np.bincount(design.group[chosen], minlength=design.K.size).astype(np.int64)


def _component(K: float, counts: NDArray[Any]) -> Component:
    failures, successes = (int(x) for x in counts)
    return Component(K, failures + successes, successes)
