"""Prior correlations of candidates: a child is about as good as its parents, give or take a step.

A_j = A_parent + N(0, τ²), the mean of both where there are two parents; whoever has none is a draw
around the archive's mean, A_j = μ + N(0, τ²). So what a parent and its other children scored tells of a
child, too: at a hundred labels more than the child's own answers do. Without parents this is the one
population of `oversight.agents.search.fitness.empirical_bayes`. It is the animal model of breeding (Henderson
1975, Biometrics 31: best linear unbiased prediction by relationship), without inbreeding's discount. It holds
where edits are small and about as often good as bad; a leap is shrunken towards its parent, for which the
upper ends of intervals allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oversight.harness import FloatArray


def relate(ids: Sequence[str], parents: Mapping[str, Sequence[str]]) -> FloatArray | None:
    """Covariances of the candidates' accuracies in units of τ², shape (M, M); None if nobody has a parent.

    Parameters
    ----------
    ids
        Of the candidates, parents before their children.
    parents
        Of each, by id; those that are not among `ids` are left out.
    """
    row = {name: j for j, name in enumerate(ids)}
    known = [[row[p] for p in parents.get(name, ()) if p in row] for name in ids]
    if not any(known):
        return None
    found: FloatArray = np.eye(len(ids))
    for j, above in enumerate(known):
        if above:
            shared = found[above, :j].mean(axis=0)
            found[j, :j], found[:j, j] = shared, shared
            found[j, j] = 1 + found[np.ix_(above, above)].mean()
    return found
