from .correction import find_default_gold as find_default_gold, put_corrected_first as put_corrected_first
from .gold_file import read_gold as read_gold
from .expert_quality import (
    ALL as ALL, ControlAnswers as ControlAnswers, ExpertQuality as ExpertQuality,
    read_control_answers as read_control_answers,
)
