"""How questions reach experts and how answers become labels."""

from protocols.base import RoutingProtocol, decode
from protocols.experts import Expert, Roster, read_roster
from protocols.offline import export_questions, read_answers
from protocols.partitioned import Partitioned
from protocols.simulated import SimulatedExperts

__all__ = [
    "Expert",
    "Partitioned",
    "Roster",
    "RoutingProtocol",
    "SimulatedExperts",
    "decode",
    "export_questions",
    "read_answers",
    "read_roster",
]
