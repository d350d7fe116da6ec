"""The second tier's worker: the standard library alone, in a process of its own."""
