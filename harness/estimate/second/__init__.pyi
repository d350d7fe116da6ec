from .deepened import DEEPENED as DEEPENED, deepen as deepen
from .asking_rates import second_rates as second_rates
