"""The report of a check, and the level of each, so that all together fail in few sound studies."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

NEGLIGIBLE = 0.1
"""Part of an interval's half-width by which missing data may move its estimate, so that it still covers."""


def is_negligible(least: float, value: float, most: float, width: float) -> bool:
    """Whether missing data that move a value to between `least` and `most` leave its interval's coverage.

    Parameters
    ----------
    width
        Of the interval. A shift by a tenth of its half lowers a coverage of 95 % to 94.6 %.

    Examples
    --------
    >>> is_negligible(0.718, 0.72, 0.722, 0.1), is_negligible(0.70, 0.72, 0.74, 0.1)
    (True, False)
    """
    return max(value - least, most - value) <= NEGLIGIBLE * width / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Outcome of one check.

    Attributes
    ----------
    name
        What was checked.
    passed
        False if the data speak against an assumption of the estimates; None if there was nothing to
        look at, so that the check was not made.
    statistic, p_value
        Those of the test; None where there is none.
    message
        What was seen and what it means, or why nothing was looked at, in a line.
    """

    name: str
    passed: bool | None
    statistic: float | None
    p_value: float | None
    message: str

    @property
    def state(self) -> str:
        """``"passed"``, ``"failed"`` or ``"not made"``."""
        return "not made" if self.passed is None else "passed" if self.passed else "failed"

    @classmethod
    def of_test(
        cls, name: str, statistic: float | None, p_value: float, alpha: float, text: str, odd: str = ""
    ) -> Check:
        """Report a test, which fails if its p-value is below `alpha`; `odd` is then added to the text."""
        passed = p_value >= alpha
        message = text if passed else text + odd
        return cls(name=name, passed=passed, statistic=statistic, p_value=p_value, message=message)

    @classmethod
    def not_made(cls, name: str, why: str) -> Check:
        """Report a check that has nothing to look at."""
        return cls(name=name, passed=None, statistic=None, p_value=None, message=why)


UNIFORM_CHECKS = (
    "asked_predicted",
    "yes_rate",
    "hausman",
    "asked_options",
    "yes_rate_by_expert",
    "agreement",
    "seen_answers",
    "abstention",
    "readability",
    "small_strata",
)
"""Checks of options drawn uniformly."""


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
