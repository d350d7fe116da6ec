"""How questions reach experts and how answers become labels."""

from protocols.base import RoutingProtocol, decode
from protocols.experts import Expert, Roster, read_roster
from protocols.offline import export_questions, read_answers
from protocols.panel import Assignment, BalancedPanel, RandomPanel
from protocols.partitioned import Partitioned
from protocols.sequential import Sequential
from protocols.simulated import SimulatedExperts
from protocols.targeted import Targeted

__all__ = [
    "Assignment",
    "BalancedPanel",
    "Expert",
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
