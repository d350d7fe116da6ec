from .lifecycle import (
    find_local_model as find_local_model, start_local_model as start_local_model,
    stop_local_model as stop_local_model,
)
