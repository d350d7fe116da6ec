from .process import (
    LOCK as LOCK, end_process as end_process, hold_lock as hold_lock, hold_start_lock as hold_start_lock,
    is_alive as is_alive, is_free as is_free, locks as locks, log_end as log_end, wait_until as wait_until,
)
