"""The table of possible and refused combinations of designs, features and uses.

A study is described by conditions: its design, and its `FEATURES`. A use is the purpose of the answers.
`RULES` lists what is refused and why; the first matching rule decides. Everything else is possible.

>>> find_reason("metrics", {"uniform"})
''
>>> find_reason("plan", {"uniform", "clusters"})
'a plan from a pilot needs independent items, but these items are in clusters'
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from oversight.harness.errors import BadInput, NotIdentified

DESIGNS = ("uniform", "weighted", "resolved", "differences", "ratings")
"""Designs of protocols: ``"uniform"`` of partitioned questions, ``"weighted"`` of targeted questions,
``"resolved"`` of sequential questions, ``"differences"`` of questions about disagreements, ``"ratings"`` of
panels."""
FEATURES = ("votes", "judges", "second questions", "strata", "clusters", "weights", "gold")
"""``"weights"``: items have unequal inclusion probabilities. ``"gold"``: any knowledge of experts' errors."""
USES = ("estimate", "compare", "gate", "gate difference", "metrics", "search", "plan")
"""Purposes of answers. The two gates may be evaluated at any time; a gate at a planned interim analysis
counts as an estimate or a comparison."""
POOL = "pool"
"""Further condition: items were drawn from a larger pool, with equal or unequal probabilities."""

UNTOLD, NO_EFFECT, BY_DATA = "not identified", "no effect", "not identified by most data"
"""Kinds of rules, see `Rule.kind`."""

_UNEQUAL = (
    'items were drawn with unequal probabilities (draw = "deviation" in study.toml), but this '
    'analysis needs equal ones; in a new study, use draw = "agreement"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Combinations that are refused for one reason.

    Attributes
    ----------
    uses
        Uses that are refused.
    all_of, any_of
        The rule applies if a study meets all conditions of `all_of` and at least one of `any_of`. An empty
        set makes no requirement.
    unless
        Conditions under which the rule does not apply.
    kind
        ``"not identified"``: the answers do not determine the result. ``"no effect"``: the feature changes
        nothing. ``"not identified by most data"``: whether the answers determine the result depends on the
        data, so `refuse` ignores the rule, and the estimator decides.
    reason
        Message for the user.
    """

    uses: frozenset[str]
    reason: str
    all_of: frozenset[str] = frozenset()
    any_of: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    kind: str = UNTOLD

    def fits(self, use: str, conditions: Collection[str]) -> bool:
        """Return whether the rule refuses this use of a study with these conditions."""
        given = set(conditions)
        some = not self.any_of or bool(self.any_of & given)
        return use in self.uses and some and self.all_of <= given and not self.unless & given

    def names(self, condition: str) -> bool:
        """Return whether this condition is in `all_of` or `any_of`."""
        return condition in self.all_of | self.any_of


def _set(*names: str) -> frozenset[str]:
    return frozenset(names)


RULES = (
    Rule(
        uses=_set(*USES),
        all_of=_set("ratings"),
        kind=NO_EFFECT,
        reason="this study is a panel; see: oversight panel agree, certify and parity --help",
    ),
    Rule(
        uses=_set("estimate", "metrics"),
        all_of=_set("differences"),
        reason="questions were asked only where two models differ; see: oversight compare",
    ),
    Rule(
        uses=_set("gate"),
        all_of=_set("differences"),
        reason="questions were asked only where two models differ; see: --not-worse-than",
    ),
    Rule(
        uses=_set("search"),
        all_of=_set("differences"),
        reason="questions were asked only where two models differ, and such items are not a random sample "
        "of all items; a search needs a study with another protocol",
    ),
    Rule(
        uses=_set("plan"),
        all_of=_set("differences"),
        reason="the pilot's questions were asked only where two models differ, so they do not give the "
        "accuracies from which a plan is computed",
    ),
    Rule(
        uses=_set("plan"),
        all_of=_set("clusters"),
        reason="a plan from a pilot needs independent items, but these items are in clusters",
    ),
    Rule(uses=_set("search", "plan", "gate difference"), all_of=_set("weights"), reason=_UNEQUAL),
    Rule(uses=_set("compare"), all_of=_set("weights", "resolved"), reason=_UNEQUAL),
    Rule(uses=_set("estimate", "metrics"), all_of=_set("weights", "second questions"), reason=_UNEQUAL),
    Rule(
        uses=_set("estimate"),
        all_of=_set("judges", POOL, "clusters"),
        reason="a judge cannot be used if items were drawn from a pool and are also in clusters; leave the "
        "judge out",
    ),
    Rule(
        uses=_set("estimate", "metrics"),
        all_of=_set("strata"),
        any_of=_set("weighted", "resolved"),
        kind=NO_EFFECT,
        reason="strata have no effect if predictions decided which options were asked about; leave strata "
        "out",
    ),
    Rule(
        uses=_set("estimate", "metrics"),
        all_of=_set("strata"),
        any_of=_set("clusters", "weights", "gold"),
        kind=NO_EFFECT,
        reason="strata have no effect together with clusters, unequal probabilities of items, or gold; leave "
        "strata out",
    ),
    Rule(
        uses=_set("estimate", "metrics"),
        all_of=_set("strata", "second questions"),
        reason="second questions are not used together with strata",
    ),
    Rule(
        uses=_set("estimate", "compare", "gate", "gate difference"),
        all_of=_set("resolved", "gold"),
        kind=NO_EFFECT,
        reason="experts' errors cannot be corrected for if experts are asked about an item until it is "
        'resolved (protocol = "sequential")',
    ),
    Rule(
        uses=_set("estimate", "metrics"),
        all_of=_set("resolved"),
        any_of=_set("votes", "second questions"),
        kind=NO_EFFECT,
        reason="every item is resolved, so models' votes and second questions add no information",
    ),
    Rule(
        uses=_set("estimate"),
        all_of=_set("resolved", "judges"),
        unless=_set(POOL),
        reason="every item is resolved, so a judge adds no information",
    ),
    Rule(
        uses=_set("metrics"),
        any_of=_set("votes", "judges"),
        kind=NO_EFFECT,
        reason="results by class use only experts' answers, no votes and no judges",
    ),
    Rule(
        uses=_set("compare", "gate", "gate difference", "search"),
        any_of=_set("votes", "judges", "second questions"),
        kind=NO_EFFECT,
        reason="only estimates of a single model use votes, judges or second questions",
    ),
    Rule(
        uses=_set("plan"),
        any_of=_set("second questions"),
        kind=NO_EFFECT,
        reason="a plan counts only first questions, not second ones",
    ),
    Rule(
        uses=_set("compare", "gate", "gate difference", "search", "plan"),
        any_of=_set("strata"),
        kind=NO_EFFECT,
        reason="only estimates and results by class use strata; here all items are analysed together",
    ),
    Rule(
        uses=_set("metrics", "search", "plan"),
        any_of=_set("gold"),
        kind=NO_EFFECT,
        reason="results by class, searches and plans do not correct for experts' errors",
    ),
    Rule(
        uses=_set("gate"),
        all_of=_set("weighted", "weights"),
        unless=_set("clusters", "gold"),
        kind=BY_DATA,
        reason="questions about several models' predictions were drawn with unequal probabilities, but a "
        "gate needs questions about a single model",
    ),
    Rule(
        uses=_set("search"),
        all_of=_set("resolved"),
        kind=BY_DATA,
        reason="experts were asked only about the predictions of certain models (as by protocol = "
        '"sequential"), so answers of other programs cannot be scored',
    ),
)


def find_rule(use: str, conditions: Collection[str]) -> Rule | None:
    """Return the first rule that refuses this use of a study; None if the use is possible."""
    return next((rule for rule in RULES if rule.fits(use, conditions)), None)


def find_reason(use: str, conditions: Collection[str]) -> str:
    """Return the reason why this use of a study is refused; empty if the use is possible.

    Examples
    --------
    >>> find_reason("metrics", {"uniform"})
    ''
    >>> find_reason("plan", {"uniform", "clusters"})
    'a plan from a pilot needs independent items, but these items are in clusters'
    """
    rule = find_rule(use, conditions)
    return "" if rule is None else rule.reason


def refuse(use: str, conditions: Collection[str], **features: bool) -> None:
    """Raise an error if `RULES` refuse a use; rules that depend on the data are ignored.

    Parameters
    ----------
    use
        One of `USES`.
    conditions
        Conditions of the labels (`LabelColumns.conditions`).
    features
        Name of a further feature → whether the caller uses it.

    Raises
    ------
    NotIdentified
        If the answers do not determine the result.
    BadInput
        If a feature has no effect; the message names it.

    Examples
    --------
    >>> refuse("plan", {"uniform", "clusters"})
    Traceback (most recent call last):
        ...
    oversight.harness.errors.NotIdentified: a plan from a pilot needs independent items, but these ...
    """
    given = [name for name, is_given in features.items() if is_given]
    rule = find_rule(use, {*conditions, *given})
    if rule is None or rule.kind == BY_DATA:
        return
    if rule.kind != NO_EFFECT:
        raise NotIdentified(rule.reason)
    named = ", ".join(filter(rule.names, given))
    raise BadInput(f"{named}: {rule.reason}" if named else rule.reason)
