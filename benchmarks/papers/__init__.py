"""Recompute the numbers printed in the source papers with the project's own functions.

python -m benchmarks.papers SOURCE [--quick] [--data FOLDER] [--write]
"""
