"""Compute the scores of candidates from stored answers and the current labels, without side effects."""
