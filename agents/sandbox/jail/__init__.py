"""The second tier's jail: only the standard library, in a separate process."""
