"""Rate limits, prices and budgets of model calls."""
