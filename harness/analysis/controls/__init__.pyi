from .correction import (
    Correction as Correction, GoldOnItems as GoldOnItems,
    describe_errors as describe_errors, describe_rates as describe_rates,
    doubt_answers as doubt_answers, find_correction as find_correction, find_rates as find_rates,
    match_gold as match_gold,
)
from .gold_file import read_gold as read_gold
from .expert_quality import (
    ControlAnswers as ControlAnswers, ExpertQuality as ExpertQuality,
    read_control_answers as read_control_answers, read_quality as read_quality,
)
