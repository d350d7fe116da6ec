from .accounts import invite as invite
from .campaign import Campaign as Campaign, Difference as Difference
from .export_file import read_label_studio_export as read_label_studio_export
from .facade import LabelStudio as LabelStudio
from .labelling_page import verdict_page as verdict_page
from .names import server_name as server_name
from .pull import OVERLAP as OVERLAP
from .queue_progress import QueueProgress as QueueProgress, measure_progress as measure_progress
from .server import (
    Bell as Bell, Connection as Connection, LabelStudioServer as LabelStudioServer, MAIN as MAIN,
    Transport as Transport, find_server as find_server, listen_for_webhooks as listen_for_webhooks,
    start_server as start_server, stop_server as stop_server,
)
from .watch import Look as Look, take_look as take_look
