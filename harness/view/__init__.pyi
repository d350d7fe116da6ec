from .exported_page import write_page as write_page, write_parts as write_parts
from .payload.progress import read_frame as read_frame
from .server.application import serve_study as serve_study
