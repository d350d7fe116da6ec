from .frames import (
    Source as Source, is_frame as is_frame, name_source as name_source,
)
from .item_files import (
    ItemFields as ItemFields, iterate_fields as iterate_fields, iterate_items as iterate_items,
    read_items as read_items, read_key as read_key, ItemMapping as ItemMapping,
)
from .inspect_logs import (
    how_log_ended as how_log_ended,
)
from .log_formats import (
    READERS as READERS, format_of as format_of, iterate_foreign as iterate_foreign,
    tell_left_out as tell_left_out,
)
from .presets import (
    PRESETS as PRESETS, PresetReading as PresetReading, load_preset as load_preset,
    read_preset as read_preset,
)
from .row import (
    CsvPortion as CsvPortion, Portion as Portion, BadRows as BadRows, Row as Row, RowPortion as RowPortion,
    split_wide as split_wide,
)
from .rows import (
    read_filled_portions as read_filled_portions, read_hub_portions as read_hub_portions,
    read_portions as read_portions, read_rows as read_rows, pause_collector as pause_collector,
    read_ahead as read_ahead,
)
from .tables import (
    labels_from_frame as labels_from_frame, predictions_from_frame as predictions_from_frame,
    predictions_from_arrays as predictions_from_arrays, read_choices as read_choices,
    read_ratings as read_ratings, write_predictions as write_predictions,
)
from .text_agreement import (
    TextCheck as TextCheck,
)
from .text_files import (
    no_file as no_file,
)
from .workbooks import (
    INSTRUCTIONS as INSTRUCTIONS,
)
