"""The source papers' printed numbers, recomputed with the project's own functions; run it as `python -m`.

python -m benchmarks.papers SOURCE [--quick] [--data FOLDER] [--write]
"""
