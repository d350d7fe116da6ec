"""Full-text search over items."""
