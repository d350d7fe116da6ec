from .queue_progress import (
    AnswerTimes as AnswerTimes, QueueProgress as QueueProgress, QueueShare as QueueShare,
    measure_progress as measure_progress, share_queues as share_queues, sum_up_times as sum_up_times,
)
