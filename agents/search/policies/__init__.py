"""Proposers of new candidates: ADAS, AFlow, reflection and recombination."""
