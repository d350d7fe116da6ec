from .demo_study import run_demo as run_demo
from .label_studio import (
    Campaign as Campaign, Connection as Connection, Difference as Difference, LabelStudio as LabelStudio,
    LabelStudioServer as LabelStudioServer, Look as Look, MAIN as MAIN, OVERLAP as OVERLAP,
    Transport as Transport, find_server as find_server, invite as invite,
    measure_progress as measure_progress, server_name as server_name, start_server as start_server,
    stop_server as stop_server, verdict_page as verdict_page, watch_campaign as watch_campaign,
)
from .simulated import SimulatedExperts as SimulatedExperts
from .spreadsheet import export_questions as export_questions, read_answers as read_answers
from .study_labels import (
    export_open as export_open, export_ratings as export_ratings, import_answers as import_answers,
    route_panel as route_panel, route_questions as route_questions, simulate_answers as simulate_answers,
)
