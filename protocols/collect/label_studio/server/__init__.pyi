from .client import Client as Client, Project as Project
from .transport import Connection as Connection, connect as connect
from .install import require_client as require_client
from .own_server import (
    MAIN as MAIN, find_server as find_server, list_servers as list_servers, reset_password as reset_password,
    start_server as start_server, stop_server as stop_server,
)
