from .files import cache_dir as cache_dir, write_whole as write_whole
from .server_folder import (
    ServerFolder as ServerFolder, hold_start_lock as hold_start_lock, is_alive as is_alive,
    is_free as is_free,
)
