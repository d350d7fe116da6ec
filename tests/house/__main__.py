"""``python -m tests.house``: print the house in numbers, room by room and in all."""

from dataclasses import astuple

from tests.house.measure import count_surface, measure_rooms, trace_estimate

COLUMNS = ("lines", "nodes/line", "over 90", "modules", "under 30", "1 importer", "names", "p95")
NOTE = """\
lines: of code, without docstrings, comments and blanks; over 90: share of all lines with more than 90
characters; under 30: modules with fewer than 30 lines of code; 1 importer: modules that one other imports;
names: what faces offer; p95: lines that 95 % of all functions do not exceed, without docstrings"""

if __name__ == "__main__":
    print(f"{'room':<24}" + "".join(f"{column:>12}" for column in COLUMNS))  # noqa: T201  it prints
    for room, numbers in measure_rooms().items():
        lines, nodes, wide, *rest = astuple(numbers)
        cells = (f"{lines:,}", f"{nodes:.1f}", f"{wide:.1%}", *(f"{number:,}" for number in rest))
        print(f"{room:<24}" + "".join(f"{cell:>12}" for cell in cells))  # noqa: T201
    print(NOTE)  # noqa: T201
    for what, number in {**count_surface(), **trace_estimate()}.items():
        print(f"{what:<36} {number:,}")  # noqa: T201
