"""How questions reach experts and how answers become labels."""

from typing import TYPE_CHECKING, Any

from harness.labels import decode
from protocols.collect.simulated import SimulatedExperts
from protocols.collect.spreadsheet import export_questions, read_answers
from protocols.routing.panel_draw import BalancedPanel, RandomPanel
from protocols.routing.partitioned import Partitioned
from protocols.routing.roster import Expert, Roster, read_roster
from protocols.routing.rule import RoutingProtocol
from protocols.routing.sequential import Sequential
from protocols.routing.targeted import Targeted

if TYPE_CHECKING:
    from protocols.collect.label_studio.facade import LabelStudio

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
        from protocols.collect.label_studio.facade import LabelStudio

        return LabelStudio
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
