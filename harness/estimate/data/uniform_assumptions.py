"""What estimates from uniformly drawn options take for granted; by itself, as protocols state it."""

from __future__ import annotations

UNIFORM_ASSUMPTIONS = (
    "the asked option was drawn uniformly, without a look at the predictions",
    "experts answer without error",
    "labelled items are a random sample of the items meant; missing answers are unrelated to the truth",
    "no model has seen the experts' answers",
)
