from .accounts import make_server_name as make_server_name
from .campaign import Campaign as Campaign
from .campaign_results import Difference as Difference
from .export_file import read_label_studio_export as read_label_studio_export
from .facade import LabelStudio as LabelStudio
from .server import (
    MAIN as MAIN, find_server as find_server, start_server as start_server, stop_server as stop_server,
)
from .watch import Look as Look, watch_campaign as watch_campaign
from .invitations import invite as invite, renew_password as renew_password
