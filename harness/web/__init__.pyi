from .listening import (
    LOCAL as LOCAL, is_loopback as is_loopback, open_listener as open_listener, run_apart as run_apart,
    serving as serving,
)
from .guarding import (
    NOWHERE as NOWHERE, OPEN as OPEN, Handler as Handler, PublicAddress as PublicAddress,
    add_headers as add_headers, derive_session as derive_session, is_same_secret as is_same_secret,
    keep_keys as keep_keys, read_bearer as read_bearer, read_public_url as read_public_url,
    read_script as read_script, refuse as refuse, refuse_foreign as refuse_foreign, write_json as write_json,
)
