from .addresses import (
    PATIENT as PATIENT, address_read_only as address_read_only, connect_read_only as connect_read_only,
    find_file as find_file, find_users as find_users, has_database as has_database,
    keeping_few as keeping_few, make_engine as make_engine, make_private as make_private,
    may_write as may_write, read_address as read_address, show_address as show_address,
)
from .held_file import HeldFile as HeldFile, LogFolding as LogFolding
from .retrying import (
    ATTEMPT as ATTEMPT, RetryingConnection as RetryingConnection, connect as connect,
    wait_for_lock as wait_for_lock,
)
