from .study_table import (
    ABSENT as ABSENT, ABSTAINED as ABSTAINED, NO as NO, RELEVANT_EXCESS as RELEVANT_EXCESS,
    TEXT_CLUSTER as TEXT_CLUSTER, YES as YES, AnyLabels as AnyLabels, AnyPredictions as AnyPredictions,
    ItemGroup as ItemGroup, ItemIndex as ItemIndex, ItemPool as ItemPool, ItemValues as ItemValues,
    LabelColumns as LabelColumns, OfferedOptions as OfferedOptions, PredictionColumns as PredictionColumns,
    QuestionColumns as QuestionColumns, Queues as Queues, RepeatedTexts as RepeatedTexts, align as align,
    align_models as align_models, align_pool as align_pool, answering_rates as answering_rates,
    count_repeated as count_repeated, digest_text as digest_text, keep_drawn as keep_drawn,
    keep_predicted as keep_predicted, key_of as key_of, mark as mark, read_questions as read_questions,
    read_queues as read_queues, share_of_draw as share_of_draw, split_items as split_items,
    weigh_draws as weigh_draws,
)
