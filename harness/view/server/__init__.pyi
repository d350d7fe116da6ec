from .apart import run_apart as run_apart
from .application import serve_study as serve_study
from .guard import add_headers as add_headers, refuse as refuse
from .listening import (
    LOCAL as LOCAL, is_loopback as is_loopback, open_listener as open_listener, serving as serving,
    shown_host as shown_host,
)
