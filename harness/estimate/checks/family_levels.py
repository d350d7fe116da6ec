"""The level of every check, so that all checks of a study together fail in few sound studies."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

OF_STUDY = ("yes_rate", "yes_rate_by_expert", "agreement")
"""Tests whose outcome is the same for every model of a study."""
OF_MODEL = ("asked_predicted", "hausman", "propensities", "coin", "seen_answers", "readability")
"""Tests that are made again for every model."""
OPTIONS_ALPHA = 1e-3
"""Level of `asked_options`, whose χ² approximation is rough."""
GOLD_ALPHA = 0.01
"""Level of `gold_errors` for all models of a study together."""
_STUDY_ALPHA, _MODEL_ALPHA = 0.019, 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyLevels:
    """Levels of the tests of one kind of study; with `asked_options` and gold they sum to 5 %.

    Attributes
    ----------
    of_study
        Level of each test in `OF_STUDY`.
    of_model
        Level of each test in `OF_MODEL` for one model.
    """

    of_study: float
    of_model: float


def split_levels(names: Collection[str], n_models: int) -> FamilyLevels:
    """Share the level of the whole family among the tests of a study (Bonferroni).

    Parameters
    ----------
    names
        Checks that the protocol of the study states.
    n_models
        Number of models whose checks are read together, at least 1.

    Examples
    --------
    >>> split_levels(("coin", "yes_rate", "abstention"), n_models=2)
    FamilyLevels(of_study=0.019, of_model=0.01)
    """
    study, model = (max(1, sum(name in names for name in group)) for group in (OF_STUDY, OF_MODEL))
    return FamilyLevels(of_study=_STUDY_ALPHA / study, of_model=_MODEL_ALPHA / (model * n_models))
