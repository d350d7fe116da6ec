"""How questions reach experts and how answers become labels."""

from typing import TYPE_CHECKING, Any

from protocols.base import RoutingProtocol, decode
from protocols.experts import Expert, Roster, read_roster
from protocols.offline import export_questions, read_answers
from protocols.panel import BalancedPanel, RandomPanel
from protocols.partitioned import Partitioned
from protocols.sequential import Sequential
from protocols.simulated import SimulatedExperts
from protocols.targeted import Targeted

if TYPE_CHECKING:
    from protocols.label_studio import LabelStudio

__all__ = [
    "BalancedPanel",
    "Expert",
    "LabelStudio",
    "Partitioned",
    "RandomPanel",
    "Roster",
    "RoutingProtocol",
    "Sequential",
    "SimulatedExperts",
    "Targeted",
    "decode",
    "export_questions",
    "read_answers",
    "read_roster",
]


def __getattr__(name: str) -> Any:
    """Load the labelling desk, which brings the database along, only for who asks for it."""
    if name == "LabelStudio":
        from protocols.label_studio import LabelStudio

        return LabelStudio
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
