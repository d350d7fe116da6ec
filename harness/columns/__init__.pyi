from .answer_shares import answering_rates as answering_rates, read_questions as read_questions
from .items import (
    ItemIndex as ItemIndex, ItemPool as ItemPool, ItemValues as ItemValues,
    share_of_draw as share_of_draw, weigh_draws as weigh_draws,
)
from .label_columns import (
    ABSENT as ABSENT, ABSTAINED as ABSTAINED, AnyLabels as AnyLabels, AnyPredictions as AnyPredictions,
    ItemGroup as ItemGroup, LabelColumns as LabelColumns, NO as NO, OfferedOptions as OfferedOptions,
    PredictionColumns as PredictionColumns, QuestionColumns as QuestionColumns, YES as YES,
    align as align, align_models as align_models, align_pool as align_pool, keep_drawn as keep_drawn,
    keep_predicted as keep_predicted, key_of as key_of, mark as mark, split_items as split_items,
)
from .repeated_texts import (
    RELEVANT_EXCESS as RELEVANT_EXCESS, RepeatedTexts as RepeatedTexts, TEXT_CLUSTER as TEXT_CLUSTER,
    count_repeated as count_repeated, digest_text as digest_text,
)
