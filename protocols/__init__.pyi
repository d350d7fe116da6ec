from .collect import (
    LabelStudio as LabelStudio, SimulatedExperts as SimulatedExperts, export_questions as export_questions,
    read_answers as read_answers,
)
from .routing import (
    BalancedPanel as BalancedPanel, Disagreement as Disagreement, Expert as Expert,
    Partitioned as Partitioned, RandomPanel as RandomPanel, Roster as Roster,
    RoutingProtocol as RoutingProtocol, Sequential as Sequential, Targeted as Targeted,
    read_roster as read_roster,
)
