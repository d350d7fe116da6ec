from .ray_workers import (
    Placement as Placement, RayWorkers as RayWorkers, WorkerLost as WorkerLost,
    add_placement as add_placement, read_placement as read_placement,
)
