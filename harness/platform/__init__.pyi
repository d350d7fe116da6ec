from .files import (
    cache_dir as cache_dir, data_dir as data_dir, repair_rights as repair_rights, repair_tree as repair_tree,
    write_whole as write_whole,
)
from .processes import (
    find_openers as find_openers, host_name as host_name, is_gone as is_gone, is_unattended as is_unattended,
    machine_id as machine_id, process_start as process_start, stop_in_order as stop_in_order,
)
from .server_folder import (
    ServerFolder as ServerFolder, hold_start_lock as hold_start_lock, is_alive as is_alive,
    is_free as is_free,
)
