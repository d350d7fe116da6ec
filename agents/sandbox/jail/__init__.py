"""The second tier's jail: the standard library alone, in a process of its own."""
