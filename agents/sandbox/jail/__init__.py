"""The jail of the second tier, which uses only the standard library and runs in a separate process."""
