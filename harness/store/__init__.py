"""The study database."""
