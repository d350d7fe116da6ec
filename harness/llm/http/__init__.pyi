from .client import HttpClient as HttpClient
from .failures import BadReply as BadReply, HttpFailure as HttpFailure, NoConnection as NoConnection
from .reply import HttpReply as HttpReply
