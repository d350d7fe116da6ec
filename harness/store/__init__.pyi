from .calls import StoredCall as StoredCall, read_calls as read_calls, write_calls as write_calls
from .labelling import (
    LabellingStore as LabellingStore, Pulled as Pulled, Quarantined as Quarantined, Queue as Queue,
    QueuedTask as QueuedTask, Revision as Revision, SOURCE as SOURCE,
)
from .ratings import PanelRatings as PanelRatings
from .repository import Repository as Repository
from .responses import Response as Response, Responses as Responses
from .runs import (
    Batch as Batch, PORTION as PORTION, UNDER_WAY as UNDER_WAY, Usage as Usage, add_batch as add_batch,
    add_probe as add_probe, count_samples as count_samples, find_unasked as find_unasked,
    items_by_id as items_by_id, read_batches as read_batches, read_probe as read_probe,
    split_into_batches as split_into_batches, store_predictions as store_predictions, sum_usage as sum_usage,
    update_batch as update_batch,
)
from .searches import SearchStore as SearchStore, StoredCandidate as StoredCandidate
