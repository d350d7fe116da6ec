from .placement import add_placement as add_placement, read_placement as read_placement
from .ray_workers import RayWorkers as RayWorkers, WorkerLost as WorkerLost
