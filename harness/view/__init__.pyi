from .exported_page import (
    ExportOptions as ExportOptions, write_page as write_page, write_parts as write_parts,
)
from .server import serve_study as serve_study
