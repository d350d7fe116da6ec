from .answer_wordings import AnswerWords as AnswerWords, make_words as make_words
from .cells import (
    ASSIGNMENT_PREFIX as ASSIGNMENT_PREFIX, QUESTION_PREFIX as QUESTION_PREFIX, mark_cells as mark_cells,
    read_id as read_id, write_cells as write_cells, write_options as write_options,
)
from .exported_files import export_questions as export_questions, write_ratings as write_ratings
from .panel_files import read_panel as read_panel
from .verdict_files import VerdictFiles as VerdictFiles, WITHDRAWN as WITHDRAWN, read_answers as read_answers
