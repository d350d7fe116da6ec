from .deepened import (
    DEEPENED as DEEPENED, SecondQuestions as SecondQuestions, deepened_accuracy as deepened_accuracy,
)
from .asking_rates import SecondRates as SecondRates, second_rates as second_rates
