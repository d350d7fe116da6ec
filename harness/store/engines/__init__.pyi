from .addresses import (
    has_database as has_database, make_engine as make_engine,
    show_address as show_address,
)
from .lost_connections import connect as connect
from .patience import ATTEMPT as ATTEMPT, wait_for_lock as wait_for_lock
from .server_rights import may_write as may_write
from .sqlite_files import (
    PATIENT as PATIENT, identify_file as identify_file, keeping_few as keeping_few,
    make_private as make_private,
)
