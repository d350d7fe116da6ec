from .cost_files import read_costs as read_costs
from .frame_labels import labels_from_frame as labels_from_frame
from .frame_predictions import predictions_from_frame as predictions_from_frame
from .frames import Source as Source, is_frame as is_frame, name_source as name_source
from .item_files import (
    ItemFields as ItemFields, iterate_fields as iterate_fields, iterate_items as iterate_items,
    read_items as read_items, read_key as read_key,
)
from .item_mapping import ItemMapping as ItemMapping, read_options as read_options
from .logs import (
    READERS as READERS, TextCheck as TextCheck, format_of as format_of, how_log_ended as how_log_ended,
    iterate_foreign as iterate_foreign, tell_left_out as tell_left_out,
)
from .portions import CsvPortion as CsvPortion, Portion as Portion, are_texts as are_texts
from .presets import (
    PRESETS as PRESETS, PresetReading as PresetReading, load_preset as load_preset,
    read_preset as read_preset,
)
from .ratings_and_predictions import (
    predictions_from_arrays as predictions_from_arrays, read_choices as read_choices,
    read_ratings as read_ratings,
)
from .row import BadRows as BadRows, Row as Row
from .rows import (
    read_filled_portions as read_filled_portions, read_hub_portions as read_hub_portions,
    read_portions as read_portions, read_rows as read_rows,
)
from .spool import pause_collector as pause_collector, read_ahead as read_ahead
from .text_files import no_file as no_file
from .written_predictions import write_predictions as write_predictions
