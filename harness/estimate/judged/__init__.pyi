from .guesses import AnswersSoFar as AnswersSoFar, guess_by_judges as guess_by_judges
from .judge_features import JudgeOpinion as JudgeOpinion, judge_probabilities as judge_probabilities
from .judge_worth import LEAST_KINDS as LEAST_KINDS, measure_worth as measure_worth
from .working import split_items_evenly as split_items_evenly, working_distribution as working_distribution
from .with_judges import judged_accuracy as judged_accuracy
from .judging import JUDGED as JUDGED, Judges as Judges
