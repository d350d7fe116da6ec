from .label_studio import (
    Bell as Bell, Campaign as Campaign, Connection as Connection, Difference as Difference,
    LabelStudio as LabelStudio, LabelStudioServer as LabelStudioServer, Look as Look, MAIN as MAIN,
    OVERLAP as OVERLAP, QueueProgress as QueueProgress, Transport as Transport, find_server as find_server,
    invite as invite, listen_for_webhooks as listen_for_webhooks, measure_progress as measure_progress,
    read_label_studio_export as read_label_studio_export, server_name as server_name,
    start_server as start_server, stop_server as stop_server, take_look as take_look,
    verdict_page as verdict_page,
)
from .panel_spreadsheet import (
    export_assignments as export_assignments, read_panel as read_panel, write_ratings as write_ratings,
)
from .pending import (
    read_pending_assignments as read_pending_assignments, read_pending_questions as read_pending_questions,
)
from .simulated import SimulatedExperts as SimulatedExperts
from .spreadsheet import export_questions as export_questions, read_answers as read_answers
