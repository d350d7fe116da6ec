"""``python -m tests.house``: print the house in numbers, and its three walks."""

from tests.house.measure import measure_house

if __name__ == "__main__":
    for what, number in measure_house().items():
        print(f"{what:<42} {number}")  # noqa: T201  it prints
