"""Stand-ins for two modules that Monty lacks; text that runs in the sandbox."""

from collections import Counter
from typing import Any


def _mean(values: Any) -> float:
    numbers = list(values)
    if not numbers:
        raise ValueError("mean requires at least one data point")
    return float(sum(numbers)) / len(numbers)


def _median(values: Any) -> Any:
    numbers = sorted(values)
    if not numbers:
        raise ValueError("no median for empty data")
    half = len(numbers) // 2
    return numbers[half] if len(numbers) % 2 else (numbers[half - 1] + numbers[half]) / 2


def _mode(values: Any) -> Any:
    counted = Counter(list(values)).most_common(1)
    if not counted:
        raise ValueError("no mode for empty data")
    return counted[0][0]


def _multimode(values: Any) -> list[Any]:
    counts = Counter(list(values))
    most = max(counts.values()) if counts else 0
    return [value for value in counts if counts[value] == most]


def _pvariance(values: Any) -> float:
    numbers = list(values)
    center = _mean(numbers)
    return float(sum((x - center) ** 2 for x in numbers)) / len(numbers)


def _variance(values: Any) -> float:
    numbers = list(values)
    if len(numbers) < 2:
        raise ValueError("variance requires at least two data points")
    return _pvariance(numbers) * len(numbers) / (len(numbers) - 1)


def _pstdev(values: Any) -> float:
    return float(_pvariance(values) ** 0.5)


def _stdev(values: Any) -> float:
    return float(_variance(values) ** 0.5)


class statistics:  # noqa: N801  a module's name
    """Functions of the module of this name."""

    mean = _mean
    fmean = _mean
    median = _median
    mode = _mode
    multimode = _multimode
    variance = _variance
    pvariance = _pvariance
    stdev = _stdev
    pstdev = _pstdev


class string:  # noqa: N801  a module's name
    """Constants of the module of this name."""

    ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
    ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ascii_letters = ascii_lowercase + ascii_uppercase
    digits = "0123456789"
    punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    whitespace = " \t\n\r\x0b\x0c"
