from .queue_progress import QueueProgress as QueueProgress, measure_progress as measure_progress
from .queue_share import QueueShare as QueueShare, share_queues as share_queues
