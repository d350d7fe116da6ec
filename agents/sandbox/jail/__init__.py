"""What the second tier's worker runs: the standard library alone, in a process of its own."""
