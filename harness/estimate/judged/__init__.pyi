from .judging import (
    JUDGED as JUDGED, Judges as Judges, LEAST_KINDS as LEAST_KINDS, judged_accuracy as judged_accuracy,
    measure_worth as measure_worth,
)
from .working import (
    AnswersSoFar as AnswersSoFar, JudgeOpinion as JudgeOpinion, guess_by_judges as guess_by_judges,
    judge_probabilities as judge_probabilities, split_items_evenly as split_items_evenly,
    working_distribution as working_distribution,
)
