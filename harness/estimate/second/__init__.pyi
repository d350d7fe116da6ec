from .deepened import DEEPENED as DEEPENED, SecondQuestions as SecondQuestions
from .asking_rates import second_rates as second_rates
