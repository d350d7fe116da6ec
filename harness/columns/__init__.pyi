from .alignment import (
    AnyLabels as AnyLabels, AnyPredictions as AnyPredictions, align as align, align_models as align_models,
    align_pool as align_pool, keep_drawn as keep_drawn, keep_predicted as keep_predicted,
)
from .answer_shares import (
    answering_rates as answering_rates, read_questions as read_questions,
)
from .item_pool import share_of_draw as share_of_draw, weigh_draws as weigh_draws
from .item_groups import ItemGroup as ItemGroup, split_items as split_items
from .item_index import ItemIndex as ItemIndex
from .item_pool import ItemPool as ItemPool
from .item_index import ItemValues as ItemValues
from .label_columns import (
    ABSTAINED as ABSTAINED, LabelColumns as LabelColumns, NO as NO, YES as YES, mark as mark,
)
from .question_columns import OfferedOptions as OfferedOptions
from .prediction_columns import ABSENT as ABSENT, PredictionColumns as PredictionColumns
from .question_columns import QuestionColumns as QuestionColumns, key_of as key_of
from .repeated_texts import (
    RELEVANT_EXCESS as RELEVANT_EXCESS, RepeatedTexts as RepeatedTexts, TEXT_CLUSTER as TEXT_CLUSTER,
    count_repeated as count_repeated, digest_text as digest_text,
)
