from .judging import (
    JUDGED as JUDGED, JudgeWorth as JudgeWorth, Judges as Judges, LEAST_KINDS as LEAST_KINDS,
    WorkingMaker as WorkingMaker, estimate_working as estimate_working,
    judged_accuracy as judged_accuracy, measure_working as measure_working, measure_worth as measure_worth,
)
from .working import (
    AnswersSoFar as AnswersSoFar, JudgeOpinion as JudgeOpinion, guess_by_judges as guess_by_judges,
    judge_probabilities as judge_probabilities, split_items_evenly as split_items_evenly,
    working_distribution as working_distribution,
)
