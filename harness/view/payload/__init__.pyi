from .detail import (
    read_closing as read_closing, read_strata as read_strata, read_strata_of as read_strata_of,
)
from .items import (
    describe_items as describe_items, read_column as read_column, read_item as read_item,
    read_items as read_items,
)
from .overview import (
    describe_report as describe_report, read_differences as read_differences, read_overview as read_overview,
)
from .panel import read_panel as read_panel
from .progress import read_frame as read_frame, read_progress as read_progress
