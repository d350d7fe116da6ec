"""Collect experts' answers through Label Studio, with one project per expert."""
