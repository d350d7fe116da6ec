"""Recompute the source papers' printed numbers with the project's own functions; run with `python -m`.

python -m benchmarks.papers SOURCE [--quick] [--data FOLDER] [--write]
"""
