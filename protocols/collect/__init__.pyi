from .answer_page import (
    AnswerPageOptions as AnswerPageOptions, MadeLink as MadeLink, list_links as list_links,
    make_links as make_links, revoke_links as revoke_links, serve_answers as serve_answers,
)
from .collection_page import read_collection as read_collection
from .label_studio import (
    Campaign as Campaign, Difference as Difference, LabelStudio as LabelStudio, Look as Look, MAIN as MAIN,
    find_server as find_server, invite as invite, make_server_name as make_server_name,
    read_label_studio_export as read_label_studio_export, renew_password as renew_password,
    start_server as start_server, stop_server as stop_server, watch_campaign as watch_campaign,
)
from .progress import (
    QueueProgress as QueueProgress, measure_progress as measure_progress, share_queues as share_queues,
)
from .simulated import SimulatedExperts as SimulatedExperts
from .spreadsheets import (
    AnswerWords as AnswerWords, VerdictFiles as VerdictFiles, WITHDRAWN as WITHDRAWN,
    export_questions as export_questions,
    make_words as make_words, mark_cells as mark_cells, read_answers as read_answers,
    read_panel as read_panel, write_cells as write_cells, write_options as write_options,
    write_ratings as write_ratings,
)
