from .listening import (
    LOCAL as LOCAL, is_loopback as is_loopback, open_listener as open_listener, run_apart as run_apart,
    serving as serving,
)
from .guarding import (
    Handler as Handler, OPEN as OPEN, derive_session as derive_session, is_same_secret as is_same_secret,
    read_bearer as read_bearer, refuse_foreign as refuse_foreign,
)
from .pages import (
    NOWHERE as NOWHERE, add_headers as add_headers, keep_keys as keep_keys, read_script as read_script,
    refuse as refuse, write_json as write_json,
)
from .public_address import PublicAddress as PublicAddress, read_public_url as read_public_url
