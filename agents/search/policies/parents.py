"""Drawing a parent from the board, by the default rule or, in parity mode, by the published one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from agents.search.policies.selection import choose, probabilities, published_probabilities

if TYPE_CHECKING:
    from agents.search.archive import Candidate
    from agents.search.loop import PolicyView


def draw_parent(view: PolicyView, ids: Sequence[str]) -> Candidate:
    """Draw one of these candidates with the probabilities of `agents.search.policies.selection`."""
    found = [view.board.fitness[c] for c in ids]
    if view.state.settings.parity:
        p = published_probabilities(np.array([f.value for f in found]))
    else:
        p = probabilities(np.array([f.mean for f in found]), np.array([f.se_relative for f in found]))
    return view.candidate(ids[choose(p, view.rng)])
