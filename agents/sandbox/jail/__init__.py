"""The jail process of the tiers "cpython" and "bubblewrap"; it uses only the standard library."""
