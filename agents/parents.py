"""Drawing a parent from the board, by the default rule or, in parity mode, by the published one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agents import select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.archive import Candidate
    from agents.state import View


def draw_parent(view: View, ids: Sequence[str]) -> Candidate:
    """Draw one of these candidates with the probabilities of `agents.select`."""
    found = [view.board.fitness[c] for c in ids]
    if view.state.settings.parity:
        p = select.published_probabilities(np.array([f.value for f in found]))
    else:
        p = select.probabilities(np.array([f.mean for f in found]), np.array([f.se_relative for f in found]))
    return view.candidate(ids[select.choose(p, view.rng)])
