from .answer_page.answer_server import AnswerPageOptions as AnswerPageOptions, serve_answers as serve_answers
from .answer_page.expert_codes import (
    MadeCode as MadeCode, list_codes as list_codes, make_codes as make_codes, revoke_codes as revoke_codes,
)
from .collection_page import read_collection as read_collection
from .label_studio.campaign import Campaign as Campaign, Difference as Difference
from .label_studio.facade import LabelStudio as LabelStudio
from .label_studio.watch import Look as Look, watch_campaign as watch_campaign
from .label_studio.server.own_server import (
    MAIN as MAIN, find_server as find_server, start_server as start_server, stop_server as stop_server,
)
from .label_studio.invitations import invite as invite, renew_password as renew_password
from .label_studio.accounts import make_server_name as make_server_name
from .label_studio.export_file import (
    read_label_studio_export as read_label_studio_export, read_study_export as read_study_export,
)
from .progress.queue_progress import (
    QueueProgress as QueueProgress, measure_progress as measure_progress, share_queues as share_queues,
)
from .simulated import SimulatedExperts as SimulatedExperts
from .spreadsheets.answer_wordings import AnswerWords as AnswerWords, make_words as make_words
from .spreadsheets.filled_files import (
    AskedQuestions as AskedQuestions, VerdictFiles as VerdictFiles, WITHDRAWN as WITHDRAWN,
    read_answers as read_answers, read_panel as read_panel,
)
from .spreadsheets.exported_files import export_questions as export_questions, write_ratings as write_ratings
from .spreadsheets.cells import (
    mark_cells as mark_cells, write_cells as write_cells, write_options as write_options,
)
