from .preset_reading import (
    PresetReading as PresetReading, load_preset as load_preset, read_preset as read_preset,
)
from .public_benchmarks import PRESETS as PRESETS
from .published_rows import EDINET_INDUSTRIES as EDINET_INDUSTRIES
