"""Which checks go with uniformly drawn options; by itself, as protocols state it."""

from __future__ import annotations

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
