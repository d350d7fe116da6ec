from .json_logs import how_log_ended as how_log_ended
from .log_formats import (
    READERS as READERS, format_of as format_of, iterate_foreign as iterate_foreign,
    tell_left_out as tell_left_out,
)
from .text_agreement import TextCheck as TextCheck
