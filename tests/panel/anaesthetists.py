"""Dawid and Skene (1979), Table 1: five anaesthetists on 45 patients, the first of them three times."""

from __future__ import annotations

import numpy as np

from oversight.harness import IntArray

# One row per patient: three labels of the first observer, then one label of each other observer.
TABLE = [
    "1111111",
    "3334334",
    "1122122",
    "2223121",
    "2223222",
    "2223322",
    "1222111",
    "3333433",
    "2222223",
    "2322223",
    "4444444",
    "2223343",
    "1111111",
    "2223212",
    "1211111",
    "1112111",
    "1111111",
    "1111111",
    "2222221",
    "2221322",
    "2222222",
    "2222221",
    "2223222",
    "2212222",
    "1111111",
    "1111111",
    "2322222",
    "1111111",
    "1111111",
    "1121121",
    "1111111",
    "3333233",
    "1111111",
    "2222222",
    "2223232",
    "4334343",
    "2212232",
    "2323233",
    "3333432",
    "1111111",
    "1111111",
    "1212111",
    "2322222",
    "1211111",
    "2222222",
]


def ratings() -> tuple[IntArray, IntArray, IntArray]:
    """Patient, observer and label of each of the 315 ratings, all from 0."""
    rows = [(n, max(0, place - 2), int(c) - 1) for n, row in enumerate(TABLE) for place, c in enumerate(row)]
    patient, observer, label = np.array(rows).T
    return patient, observer, label
