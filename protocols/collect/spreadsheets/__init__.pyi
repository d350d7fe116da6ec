from .handed_out import export_questions as export_questions, write_ratings as write_ratings
from .panel_files import read_panel as read_panel
from .verdict_files import iterate_replies as iterate_replies, read_answers as read_answers
