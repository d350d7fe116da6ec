"""Files and hub data sets become items; every bad row is named by file, line and field."""

from harness.datasets.item_files import ItemMapping, read_items
from harness.datasets.key_file import read_key
from harness.datasets.presets import PRESETS, Preset, read_preset
from harness.datasets.rating_files import read_choices, read_ratings

__all__ = [
    "PRESETS",
    "ItemMapping",
    "Preset",
    "read_choices",
    "read_items",
    "read_key",
    "read_preset",
    "read_ratings",
]
