"""Names of intervals and tests as a person reads them; JSON keeps the short ones."""

from __future__ import annotations

_WORDS = {
    "anytime": "any time",
    "bernstein": "Bernstein bound",
    "blaker": "Blaker",
    "clopper-pearson": "Clopper–Pearson",
    "delta": "delta method",
    "gold": "gold items",
    "gold-score": "score test with gold items",
    "hoeffding": "Hoeffding bound",
    "jeffreys": "Jeffreys",
    "likelihood-ratio": "likelihood ratio",
    "mcnemar": "McNemar",
    "mover": "strata combined",
    "paired": "paired items",
    "profile-likelihood": "profile likelihood",
    "ranges": "ranges of error rates",
    "score": "score test",
    "share": "readable share",
    "sign": "sign test",
    "square-and-add": "parts combined",
    "strata": "strata of the draw",
    "tilted-score": "tilted score test",
    "two-phase-score": "score test in two phases",
    "wald": "normal approximation",
    "wald-logit": "normal approximation (logit)",
    "weighted-score": "weighted score test",
    "wilson": "Wilson",
    "worst-case": "worst case",
}


def method_words(method: str) -> str:
    """``score + share + mover`` becomes ``score test, readable share, strata combined``."""
    parts = [part.strip().replace("_", "-") for part in method.split("+")]
    return ", ".join(" or ".join(_WORDS.get(name, name) for name in part.split("/")) for part in parts)
