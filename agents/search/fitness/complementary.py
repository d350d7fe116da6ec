"""Labels that say what an answer is not, alone: both routes to them.

"Towards Scalable Oversight via Partitioned Human Supervision", App. B. Where the right option is known,
a wrong one is drawn uniformly and the right one forgotten. Where it is not, an option is drawn and verified:
a mixture. Its items with a yes are left out. Whether an item has a yes is then chance alone, 1/K for each, so
what is left of items of one K is a sample of them; where K varies, fewer are left of small K. A no's option
is uniform among the wrong ones either way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oversight.agents.search.fitness.expert_labels import ExpertLabels
from oversight.harness import BadInput, derive_seed


def keep_complementary(labelled: ExpertLabels, how: str, seed: int) -> ExpertLabels:
    """Take the yes out of labels.

    Parameters
    ----------
    how
        ``"all"`` changes nothing; ``"no"`` leaves items with a yes out; ``"drawn"`` draws a wrong option of
        each instead, unless another was refused already.
    seed
        Of the draws, each by the item's id.

    Raises
    ------
    BadInput
        If options were drawn with unequal propensities: then it is no chance which items have a yes.
    """
    if how == "all":
        return labelled
    settled = labelled.truth >= 0
    if (labelled.routed & ~settled if how == "drawn" else labelled.routed).any():
        raise BadInput(
            f"search: labels = {how!r} needs options that were drawn uniformly, as by protocol = "
            '"partitioned"; these were asked about with unequal chances'
        )
    refused, routed = labelled.refused.copy(), np.where(settled, False, labelled.routed)
    if how == "no":
        refused[settled] = False
    else:
        for i in np.flatnonzero(settled & ~refused.any(axis=1)):
            rng = np.random.default_rng(derive_seed(seed, "complementary", labelled.items[i]))
            wrong = int(rng.integers(labelled.n_options[i] - 1))
            refused[i, wrong + (wrong >= labelled.truth[i])] = True
    return replace(labelled, truth=np.where(settled, -1, labelled.truth), refused=refused, routed=routed)
