from .correction import (
    Correction as Correction, describe_errors as describe_errors, find_correction as find_correction,
)
from .gold_file import read_gold as read_gold
from .expert_quality import (
    ControlAnswers as ControlAnswers, ExpertQuality as ExpertQuality,
    read_control_answers as read_control_answers, read_quality as read_quality,
)
