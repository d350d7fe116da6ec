"""Database access for model calls: cached calls, the ledger of usage, batches, and locks of runs."""
