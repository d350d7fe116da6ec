"""Rendering: tables, plots, pages. Nothing here computes an estimate."""
