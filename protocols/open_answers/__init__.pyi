from .open_protocol import OpenAnswers as OpenAnswers
from .simulated_units import read_unit_key as read_unit_key, simulate_units as simulate_units
from .unit_route import RoutedUnits as RoutedUnits, find_due as find_due, route_units as route_units
