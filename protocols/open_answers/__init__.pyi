from .simulated_units import simulate_units as simulate_units
from .unit_route import RoutedUnits as RoutedUnits, route_units as route_units
