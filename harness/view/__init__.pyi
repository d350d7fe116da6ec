from .exported_page import (
    ExportOptions as ExportOptions, write_page as write_page, write_parts as write_parts,
)
from .page_parts import read_script as read_script
from .payload import read_frame as read_frame
from .remembered import remember_columns as remember_columns
from .server import (
    LOCAL as LOCAL, add_headers as add_headers, is_loopback as is_loopback,
    open_listener as open_listener, refuse as refuse, run_apart as run_apart, serve_study as serve_study,
    serving as serving, shown_host as shown_host,
)
