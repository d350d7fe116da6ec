from .listening import (
    LOCAL as LOCAL, is_loopback as is_loopback, open_listener as open_listener, run_apart as run_apart,
    serving as serving, shown_host as shown_host,
)
from .pages import (
    NOWHERE as NOWHERE, add_headers as add_headers, keep_keys as keep_keys, read_script as read_script,
    refuse as refuse, write_json as write_json,
)
