from .carried_answers import estimate_carried as estimate_carried, unpack_scores as unpack_scores
from .score_file import WrittenScores as WrittenScores, write_scores as write_scores
